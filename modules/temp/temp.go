// Package temp is Salt's module temp: it creates temporary files and directories
// (salt/modules/temp.py).
package temp

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module temp.
func Plugin() loader.Plugin { return loader.Plugin{Name: "temp", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("dir", m.dir), loader.F("file", m.file)}},
		nil
}

type placeArgs struct {
	Suffix any `default:"''"`
	Prefix any `default:"'tmp'"`
	Parent any `default:"None"`
}

// dir creates a directory that only the minion's user can enter, and returns its path.
//
// parent
//
//	The directory to create it in. Default: that for temporary files.
//
// CLI Example:
//
//	salt '*' temp.dir
//	salt '*' temp.dir prefix='mytemp-' parent='/var/run/'
func (m *module) dir(_ context.Context, a placeArgs) (any, error) {
	return m.try(a, func(path string) error { return os.Mkdir(path, 0o700) })
}

// file creates an empty file that only the minion's user can read, and returns its path.
//
// parent
//
//	The directory to create it in. Default: that for temporary files.
//
// CLI Example:
//
//	salt '*' temp.file
//	salt '*' temp.file prefix='mytemp-' parent='/var/run/'
func (m *module) file(_ context.Context, a placeArgs) (any, error) {
	return m.try(a, func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// tries is how many names to try before giving up.
const tries = 100

// try calls build with random names until one is free.
func (m *module) try(a placeArgs, build func(path string) error) (any, error) {
	parent := m.parent(a.Parent)
	for range tries {
		path := filepath.Join(parent, text(a.Prefix)+random()+text(a.Suffix))
		err := build(filepath.Join(m.env.Root, path))
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, loader.OSError(err)
		}
	}
	return nil, loader.Exception("FileExistsError",
		"[Errno 17] No usable temporary file name found")
}

func (m *module) parent(v any) string {
	if v != nil {
		return data.Str(v)
	}
	return os.TempDir()
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

// random returns eight random letters and digits.
func random() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	b := make([]byte, 8)
	rand.Read(b)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

// Package roots is Salt's wheel modules file_roots and pillar_roots: they list, read and write
// files of the environments (salt/wheel/file_roots.py, salt/wheel/pillar_roots.py).
//
// Paths are relative to a root and cannot leave it, through .. or through a link (CVE-2020-11652,
// CVE-2021-25282).
package roots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the wheel module of that name, which is also the name of the option: file_roots or
// pillar_roots.
func Plugin(name string) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env, name}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("find", m.find),
			loader.F("list_env", m.listEnv),
			loader.F("list_roots", m.listRoots),
			loader.F("read", m.read),
			loader.F("write", m.write),
		}}, nil
	}}
}

type module struct {
	env    *loader.Env
	option string
}

// roots returns the directories of an environment, and whether the environment exists.
func (m *module) roots(env string) ([]string, bool) {
	all, _ := m.env.Option(m.option).(*data.Map)
	v, ok := all.Get(env)
	if text, isText := v.(string); isText {
		return []string{text}, ok
	}
	list, _ := v.([]any)
	var dirs []string
	for _, e := range list {
		dirs = append(dirs, data.Str(e))
	}
	return dirs, ok
}

type fileArgs struct {
	Path    string
	Saltenv string `default:"'base'"`
}

// find returns the paths of a file in an environment, each with its type: txt or bin.
//
// CLI Example:
//
//	salt-call saltutil.wheel file_roots.find top.sls
func (m *module) find(_ context.Context, a fileArgs) (any, error) {
	ret := []any{}
	err := m.each(a, func(full string, content []byte) {
		form := "bin"
		if isText(content) {
			form = "txt"
		}
		ret = append(ret, data.NewMap(full, form))
	}, probe)
	return ret, err
}

// read returns the paths of a text file in an environment, each with its text. Other files are left
// out.
//
// CLI Example:
//
//	salt-call saltutil.wheel file_roots.read top.sls
func (m *module) read(_ context.Context, a fileArgs) (any, error) {
	ret := []any{}
	err := m.each(a, func(full string, content []byte) {
		if isText(content) && utf8.Valid(content) {
			ret = append(ret, data.NewMap(full, string(content)))
		}
	}, maxFile)
	return ret, err
}

// Limits of what is read of a file, in bytes.
const (
	probe   = 512
	maxFile = 64 << 20
)

// each calls found for the files with that path, with at most most bytes of each. A path that leads
// out of the root matches no file.
func (m *module) each(a fileArgs, found func(full string, content []byte), most int64) error {
	dirs, _ := m.roots(a.Saltenv)
	name, ok := inside(a.Path)
	if !ok {
		return nil
	}
	for _, dir := range dirs {
		content, err := readIn(dir, name, most)
		switch {
		case errors.Is(err, errNoFile):
		case err != nil:
			return loader.Execution("%w", err)
		default:
			found(filepath.Join(dir, name), content)
		}
	}
	return nil
}

// inside returns a path relative to a root, and whether it is valid.
func inside(name string) (string, bool) {
	if name == "" || strings.ContainsAny(name, "\x00\\") || path.IsAbs(name) {
		return "", false
	}
	name = path.Clean(name)
	return name, name != "." && fs.ValidPath(name)
}

// errNoFile is returned if there is no regular file below the root.
var errNoFile = errors.New("no such file")

// readIn reads the beginning of a file below a directory.
func readIn(dir, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errNoFile
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errNoFile // or it leads out of the root
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if most > probe && info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, more than %d are not read",
			filepath.Join(dir, name), info.Size(), most)
	}
	content := make([]byte, min(info.Size(), most))
	n, err := f.ReadAt(content, 0)
	if err != nil && n < len(content) {
		return nil, err
	}
	return content, nil
}

// isText reports whether the beginning of a file looks like text (salt/utils/files.py, is_text).
func isText(content []byte) bool {
	head := content[:min(len(content), probe)]
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return false
	case len(head) == 0 || utf8.Valid(head):
		return true
	}
	odd := 0
	for _, b := range head {
		if (b < 32 || b > 126) && !bytes.ContainsRune([]byte("\n\r\t\f\b"), rune(b)) {
			odd++
		}
	}
	return float64(odd)/float64(len(head)) <= 0.30
}

type envArgs struct {
	Saltenv string `default:"'base'"`
}

// listEnv returns the files and directories below each root of an environment: f for a file, a
// dictionary for a directory.
//
// CLI Example:
//
//	salt-call saltutil.wheel file_roots.list_env
func (m *module) listEnv(_ context.Context, a envArgs) (any, error) {
	dirs, _ := m.roots(a.Saltenv)
	ret := &data.Map{}
	for _, dir := range dirs {
		tree, err := list(dir)
		if err != nil {
			return nil, err
		}
		ret.Set(dir, tree)
	}
	return ret, nil
}

// list returns the content of a directory; links are not followed. A missing directory is empty.
func list(dir string) (*data.Map, error) {
	top := &data.Map{}
	folders := map[string]*data.Map{".": top}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return top, nil
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == ".":
			return nil
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // it cannot be read
		case err != nil:
			return err
		case d.IsDir():
			folders[name] = &data.Map{}
			folders[path.Dir(name)].Set(d.Name(), folders[name])
		default:
			folders[path.Dir(name)].Set(d.Name(), "f")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	return top, nil
}

// listRoots returns the results of list_env for all environments.
//
// CLI Example:
//
//	salt-call saltutil.wheel file_roots.list_roots
func (m *module) listRoots(ctx context.Context, _ loader.NoArgs) (any, error) {
	all, _ := m.env.Option(m.option).(*data.Map)
	ret := &data.Map{}
	for env := range all.All() {
		one, err := m.listEnv(ctx, envArgs{data.Str(env)})
		if err != nil {
			return nil, err
		}
		ret.Set(env, []any{one})
	}
	return ret, nil
}

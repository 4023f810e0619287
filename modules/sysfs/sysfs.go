// Package sysfs is Salt's module sysfs: the attributes of kernel objects below /sys
// (salt/modules/sysfs.py).
//
// Differences from Salt: nothing outside of /sys is read or written, and lists are in order.
package sysfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module sysfs. It is available on Linux.
func Plugin() loader.Plugin { return loader.Plugin{Name: "sysfs", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("the module sysfs is available on Linux only")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("attr", m.attr),
		loader.F("interfaces", m.interfaces),
		loader.F("read", m.read),
		loader.F("target", m.target),
		loader.F("write", m.write),
	}}, nil
}

// top is the directory of all attributes.
const top = "/sys"

// follow returns the path below /sys that a key leads to, without symbolic links.
func (m *module) follow(key string) (path string, ok bool) {
	if !strings.HasPrefix(key, top) {
		key = filepath.Join(top, key)
	}
	root, err := filepath.EvalSymlinks(filepath.Join("/", m.env.Root))
	if err != nil {
		return "", false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, key))
	if err != nil {
		return "", false
	}
	path = "/" + strings.TrimPrefix(strings.TrimPrefix(real, root), "/")
	return path, path == top || strings.HasPrefix(path, top+"/")
}

// file returns the path by which a file is opened.
func (m *module) file(path string) string { return filepath.Join("/", m.env.Root, path) }

func (m *module) isDir(path string) bool {
	info, err := os.Stat(m.file(path))
	return err == nil && info.IsDir()
}

type targetArgs struct {
	Key  string
	Full any `default:"True"`
}

// target returns the path of an attribute without symbolic links, or with full=False its last part.
// For an unknown one it returns False.
//
// CLI Example:
//
//	salt '*' sysfs.target class/ttyS0
func (m *module) target(_ context.Context, a targetArgs) (any, error) {
	path, ok := m.follow(a.Key)
	switch {
	case !ok:
		return false, nil
	case data.Truth(a.Full):
		return path, nil
	}
	return filepath.Base(path), nil
}

type attrArgs struct {
	Key   string
	Value any `default:"None"`
}

// attr returns the value of an attribute, or the path of a directory. With a value, it writes it and
// returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' sysfs.attr block/sda/queue/logical_block_size
func (m *module) attr(ctx context.Context, a attrArgs) (any, error) {
	path, ok := m.follow(a.Key)
	switch {
	case !ok:
		return false, nil
	case m.isDir(path):
		return path, nil
	case a.Value != nil:
		return m.write(ctx, writeArgs(a))
	}
	return m.value(path), nil
}

type writeArgs struct {
	Key   string
	Value any
}

// write writes a value into an attribute, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' sysfs.write devices/system/cpu/cpu0/cpufreq/scaling_governor 'performance'
func (m *module) write(_ context.Context, a writeArgs) (any, error) {
	path, ok := m.follow(a.Key)
	if !ok {
		return false, nil
	}
	f, err := os.OpenFile(m.file(path), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false, nil //nolint:nilerr // as Salt
	}
	_, err = f.WriteString(data.Str(a.Value) + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err == nil, nil
}

type readArgs struct {
	Key  any
	Root string `default:"''"`
}

// read returns the value of an attribute, or a dictionary of those in a directory. For a list of keys
// below root it returns a dictionary. For an unreadable attribute it returns False.
//
// CLI Example:
//
//	salt '*' sysfs.read class/net/em1/statistics
func (m *module) read(_ context.Context, a readArgs) (any, error) {
	key, ok := a.Key.(string)
	if ok {
		return m.tree(under(a.Root, key)), nil
	}
	all := &data.Map{}
	for _, key := range data.TextsOf(a.Key) {
		if v := m.tree(under(a.Root, key)); v != false {
			all.Set(key, v)
		}
	}
	return all, nil
}

// under returns a key below another one, like Python's os.path.join.
func under(root, key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return filepath.Join(root, key)
}

// tree returns the value of an attribute or of a directory.
func (m *module) tree(key string) any {
	path, ok := m.follow(key)
	if !ok {
		return false
	}
	if !m.isDir(path) {
		return m.value(path)
	}
	all := &data.Map{}
	for _, key := range m.readable(path) {
		v := m.tree(filepath.Join(path, key))
		if v == false {
			continue
		}
		inner, parts := all, strings.Split(key, "/")
		for _, part := range parts[:len(parts)-1] {
			next, ok := inner.Value(part).(*data.Map)
			if !ok {
				next = &data.Map{}
				inner.Set(part, next)
			}
			inner = next
		}
		inner.Set(parts[len(parts)-1], v)
	}
	return all
}

// value returns the value of an attribute: a number or a text, False if there is none.
func (m *module) value(path string) any {
	src, err := readNow(m.file(path))
	text := strings.TrimSpace(string(src))
	if err != nil || text == "" {
		return false
	}
	if n, err := loader.Int(text); err == nil {
		return n
	}
	if f, err := loader.Float(text); err == nil {
		return f
	}
	return text
}

type rootArgs struct{ Root string }

// interfaces returns the attributes below a directory: r can be read, w written and rw both.
//
// CLI Example:
//
//	salt '*' sysfs.interfaces block/bcache0/bcache
func (m *module) interfaces(_ context.Context, a rootArgs) (any, error) {
	path, ok := m.follow(a.Root)
	if !ok || !m.isDir(path) {
		m.env.Log.Errorf("SysFS %s not a dir", a.Root)
		return false, nil
	}
	r, w, rw := m.walk(path)
	return data.NewMap("r", data.Values(r), "w", data.Values(w), "rw", data.Values(rw)), nil
}

func (m *module) readable(path string) []string {
	r, _, rw := m.walk(path)
	return append(r, rw...)
}

// walk returns the attributes below a directory by what their owner may do.
func (m *module) walk(path string) (r, w, rw []string) {
	root := m.file(path)
	//nolint:errcheck // what cannot be read is left out
	filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // see above
		}
		name := strings.TrimPrefix(strings.TrimPrefix(file, root), "/")
		switch info.Mode().Perm() & 0o600 {
		case 0o600:
			rw = append(rw, name)
		case 0o400:
			r = append(r, name)
		case 0o200:
			w = append(w, name)
		}
		return nil
	})
	for _, list := range [][]string{r, w, rw} {
		slices.Sort(list)
	}
	return r, w, rw
}

// Package winpath is Salt's module win_path: the directories of programs in the registry of Windows,
// and those of the minion itself (salt/modules/win_path.py).
package winpath

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module win_path.
func Plugin() loader.Plugin { return loader.Plugin{Name: "win_path", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS != "windows" {
		return nil, errors.New("Module win_path: module only works on Windows systems") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add", m.add),
		loader.F("exists", m.exists),
		loader.F("get_path", m.getPath),
		loader.F("rehash", m.rehash),
		loader.F("remove", m.remove),
	}}, nil
}

// The place of the directories in the registry.
const (
	hive  = "HKEY_LOCAL_MACHINE"
	key   = `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	vname = "PATH"
)

// rehash tells all windows that the environment has changed, and reports whether they took it.
//
// CLI Example:
//
//	salt '*' win_path.rehash
func (m *module) rehash(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Call(ctx, "reg.broadcast_change", nil, nil)
}

// getPath returns the directories of the system.
//
// CLI Example:
//
//	salt '*' win_path.get_path
func (m *module) getPath(ctx context.Context, _ loader.NoArgs) (any, error) {
	dirs, err := m.dirs(ctx)
	return data.Values(dirs), err
}

func (m *module) dirs(ctx context.Context) ([]string, error) {
	v, err := loader.CallAs[*data.Map](ctx, m.env, "reg.read_value", []any{hive, key, vname}, nil)
	if err != nil {
		return nil, err
	}
	if v.Value("success") != true {
		return nil, loader.Execution("read the PATH of the system: %s", v.Text("comment"))
	}
	dirs := strings.Split(v.Text("vdata"), ";")
	if last := len(dirs) - 1; dirs[last] == "" {
		dirs = dirs[:last]
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Clean(dir)
	}
	return dirs, nil
}

type pathArgs struct{ Path string }

// exists reports whether a directory is in the PATH of the system.
//
// CLI Example:
//
//	salt '*' win_path.exists 'c:\python27'
func (m *module) exists(ctx context.Context, a pathArgs) (any, error) {
	dirs, err := m.dirs(ctx)
	return find(dirs, filepath.Clean(a.Path)) >= 0, err
}

// find returns the index of a directory, in capitals or small letters, and -1 without it.
func find(dirs []string, path string) int {
	return slices.IndexFunc(dirs, func(d string) bool { return strings.EqualFold(d, path) })
}

type addArgs struct {
	Path   string
	Index  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs" only:"rehash"`
}

// add adds a directory to the PATH of the system, or moves it, and reports whether it is there.
//
// index : None
//
//	Its place: 0 is the first, -1 the last. None keeps one that is there, and appends others.
//
// rehash : True
//
//	Tell all windows of the change.
//
// CLI Example:
//
//	salt '*' win_path.add 'c:\python27' index=0
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	path := filepath.Clean(a.Path)
	if path == "." {
		return false, nil
	}
	if strings.ContainsAny(path, ";\x00\r\n") {
		return nil, loader.Invocation("a directory of the PATH cannot contain ; and line ends: %q", path)
	}
	index := anywhere
	if n, err := loader.Int(a.Index); a.Index != nil && err == nil {
		index = int(n)
	}
	return m.change(ctx, a.Kwargs, func(dirs []string) []string { return placed(dirs, path, index) })
}

type removeArgs struct {
	Path   string
	Kwargs *data.Map `kwargs:"kwargs" only:"rehash"`
}

// remove removes a directory from the PATH of the system, and reports whether it is gone.
//
// rehash : True
//
//	Tell all windows of the change.
//
// CLI Example:
//
//	salt '*' win_path.remove 'c:\python27'
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	path := filepath.Clean(a.Path)
	return m.change(ctx, a.Kwargs, func(dirs []string) []string {
		return slices.DeleteFunc(dirs, func(d string) bool { return strings.EqualFold(d, path) })
	})
}

// change edits the directories of the minion itself and those of the system.
func (m *module) change(ctx context.Context, kwargs *data.Map, edit func([]string) []string) (any, error) {
	own := strings.Split(os.Getenv("PATH"), ";")
	if now := edit(slices.Clone(own)); !slices.Equal(own, now) {
		if err := os.Setenv("PATH", strings.Join(now, ";")); err != nil {
			return nil, fmt.Errorf("set the PATH of the minion: %w", err)
		}
	}
	was, err := m.dirs(ctx)
	if err != nil {
		return nil, err
	}
	now := edit(slices.Clone(was))
	if slices.Equal(was, now) {
		return true, nil
	}
	done, err := m.env.Call(ctx, "reg.set_value",
		[]any{hive, key, vname, strings.Join(now, ";"), "REG_EXPAND_SZ"}, nil)
	if told, ok := kwargs.Get("rehash"); err != nil || done != true || ok && !data.Truth(told) {
		return done, err
	}
	return m.rehash(ctx, loader.NoArgs{})
}

// anywhere is the index of a directory whose place does not matter.
const anywhere = int(^uint(0) >> 1)

// placed returns the directories with path at an index. Indexes below 0 count from the end, and those
// beyond an end mean that end.
func placed(dirs []string, path string, index int) []string {
	now, n := find(dirs, path), len(dirs)
	switch {
	case index == anywhere && now >= 0:
		return dirs
	case index == anywhere:
		return append(dirs, path)
	case index >= n || index == -1:
		if now >= 0 && now == n-1 {
			return dirs
		}
		return append(without(dirs, now), path)
	case index <= -n:
		index = 0
	}
	at, wanted := index, index
	if index < 0 {
		at, wanted = index+1, n+index
	}
	if now == wanted {
		return dirs
	}
	dirs = without(dirs, now)
	if at < 0 {
		at = max(0, len(dirs)+at)
	}
	return slices.Insert(dirs, min(at, len(dirs)), path)
}

// without returns the directories without that at an index, which is -1 for none.
func without(dirs []string, i int) []string {
	if i < 0 {
		return dirs
	}
	return slices.Delete(dirs, i, i+1)
}

// Package winpath is Salt's state win_path: directories in the PATH of Windows
// (salt/states/win_path.py).
package winpath

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state win_path.
func Plugin() loader.Plugin { return loader.Plugin{Name: "win_path", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS != "windows" {
		return nil, errors.New("win_path state module failed to load: only available on Windows")
	}
	return statesOf(env), nil
}

func statesOf(env *loader.Env) *loader.Module {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("exists", m.exists),
	}}
}

type absentArgs struct{ Name string }

// absent removes a directory from the PATH of the system.
//
//	'C:\sysinternals':
//	  win_path.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	there, err := m.env.Call(ctx, "win_path.exists", []any{a.Name}, nil)
	switch {
	case err != nil:
		return nil, err
	case !data.Truth(there):
		return change.Unchanged(a.Name, a.Name+" is not in the PATH"), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, a.Name+" would be removed from the PATH"), nil
	}
	if _, err = m.env.Call(ctx, "win_path.remove", []any{a.Name}, nil); err != nil {
		return nil, err
	}
	if there, err = m.env.Call(ctx, "win_path.exists", []any{a.Name}, nil); err != nil {
		return nil, err
	}
	if data.Truth(there) {
		return change.Failed(a.Name, "Failed to remove "+a.Name+" from the PATH"), nil
	}
	return change.New(a.Name, true, data.NewMap("removed", a.Name), "Removed "+a.Name+" from the PATH"), nil
}

type existsArgs struct {
	Name  string
	Index any `default:"None"`
}

// exists adds a directory to the PATH of the system.
//
// index
//
//	Its place: 0 is the first, -1 the last. Without it a directory that is there stays in its place,
//	and others come last.
//
//	'C:\sysinternals':
//	  win_path.exists:
//	    - index: 0
func (m *module) exists(ctx context.Context, a existsArgs) (any, error) {
	name := filepath.Clean(a.Name)
	index, given := a.Index.(int64)
	if a.Index != nil && !given {
		return change.Failed(name, "Index must be an integer"), nil
	}
	dirs, err := m.dirs(ctx)
	if err != nil {
		return nil, err
	}
	w := &wanted{name: name, index: int(index), given: given}
	w.limit(len(dirs))
	w.old = w.at(dirs)
	ret, err := m.ensure(ctx, w)
	if err == nil && w.warning != "" {
		ret.Set("warnings", []any{w.warning})
	}
	return ret, err
}

// wanted is a directory with its place.
type wanted struct {
	name    string
	index   int
	given   bool // an index is wanted
	warning string
	old     any // the index before; nil for none
}

// limit brings the index into the range of the directories.
func (w *wanted) limit(n int) {
	const text = "There are only %d directories in the PATH, using an index of %d instead of %d."
	switch {
	case !w.given:
	case w.index > n:
		w.warning, w.index = fmt.Sprintf(text, n, n, w.index), n
	case w.index <= -n:
		w.warning, w.index = fmt.Sprintf(text, n, 0, w.index), 0
	}
}

// at returns the index of the directory, counted from the end if the wanted one is; nil for none.
func (w *wanted) at(dirs []string) any {
	i := slices.IndexFunc(dirs, func(d string) bool { return strings.EqualFold(d, w.name) })
	switch {
	case i < 0:
		return nil
	case w.given && w.index < 0:
		return int64(i - len(dirs))
	}
	return int64(i)
}

// place returns the words for the wanted index.
func (w *wanted) place() string {
	if !w.given {
		return ""
	}
	return fmt.Sprintf(" at index %d", w.index)
}

// asked returns the wanted index, nil for any.
func (w *wanted) asked() any {
	if !w.given {
		return nil
	}
	return int64(w.index)
}

func (w *wanted) moved(now any) *data.Map {
	return data.NewMap("index", data.NewMap("old", w.old, "new", now))
}

func (m *module) ensure(ctx context.Context, w *wanted) (*data.Map, error) {
	switch {
	case w.old != nil && (!w.given || data.Equal(w.old, w.asked())):
		return change.Unchanged(w.name, w.name+" already exists in the PATH"+w.place()+"."), nil
	case w.old != nil && change.Test(ctx):
		return change.Would(w.name, w.moved(w.asked()),
			fmt.Sprintf("%s would be moved from index %d to %d.", w.name, w.old, w.index)), nil
	case change.Test(ctx):
		return change.Would(w.name, w.moved(w.asked()),
			w.name+" would be added to the PATH"+w.place()+"."), nil
	}
	return m.add(ctx, w)
}

// add adds or moves the directory and checks that it is in its place.
func (m *module) add(ctx context.Context, w *wanted) (*data.Map, error) {
	var comments []string
	v, err := m.env.Call(ctx, "win_path.add", []any{w.name}, data.NewMap("index", w.asked(), "rehash", false))
	if err != nil {
		comments = append(comments, "Encountered error: "+err.Error()+".")
	}
	done := err == nil && data.Truth(v)
	if done {
		told, err := m.env.Call(ctx, "win_path.rehash", nil, nil)
		if err != nil {
			return nil, err
		}
		if done = data.Truth(told); !done {
			comments = append(comments, "Updated registry with new PATH, but failed to rehash.")
		}
	}
	dirs, err := m.dirs(ctx)
	if err != nil {
		return nil, err
	}
	now := w.at(dirs)
	if done {
		done = now != nil && (!w.given || data.Equal(now, w.asked()))
	}
	comments = append(comments, w.verdict(done))
	changes := data.NewMap()
	if !data.Equal(w.old, now) {
		changes = w.moved(now)
	}
	return change.New(w.name, done, changes, strings.Join(comments, " ")), nil
}

// verdict says what was done, or was not.
func (w *wanted) verdict(done bool) string {
	verb := func(good, bad string) string {
		if done {
			return good
		}
		return bad
	}
	if w.given && w.old != nil {
		return fmt.Sprintf("%s %s from index %d to %d.", verb("Moved", "Failed to move"), w.name, w.old, w.index)
	}
	return verb("Added ", "Failed to add ") + w.name + " to the PATH" + w.place() + "."
}

func (m *module) dirs(ctx context.Context) ([]string, error) {
	list, err := loader.CallAs[[]any](ctx, m.env, "win_path.get_path", nil, nil)
	return data.Texts(list), err
}

// Package alternatives is Salt's state alternatives: the program behind a generic name such as
// editor (salt/states/alternatives.py). It uses the module alternatives.
//
// Differences from Salt: auto and remove check again after the change, and fail if nothing has
// changed.
package alternatives

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state alternatives.
func Plugin() loader.Plugin { return loader.Plugin{Name: "alternatives", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("auto", m.auto),
		loader.F("install", m.install),
		loader.F("remove", m.remove),
		loader.F("set", m.set).Def("set_"),
	}}, nil
}

func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	return change.Ask[any](ctx, m.env, "alternatives."+fun, args, nil)
}

// is calls a function that returns a boolean.
func (m *module) is(ctx context.Context, fun string, args ...any) (bool, error) {
	return change.Ask[bool](ctx, m.env, "alternatives."+fun, args, nil)
}

// current returns the path that a name points to, "" for none.
func (m *module) current(ctx context.Context, name string) (string, error) {
	path, err := calls.Found[string](ctx, m.env, "alternatives.show_current", []any{name}, nil)
	return path, change.Raise(err)
}

type installArgs struct {
	Name, Link, Path string
	Priority         any
}

// install adds an existing path as an alternative for a name.
//
// link
//
//	The generic link, such as /usr/bin/editor.
//
// priority
//
//	A number. In automatic mode the alternative with the highest priority is used.
//
//	editor:
//	  alternatives.install:
//	    - link: /usr/bin/editor
//	    - path: /usr/bin/vim.basic
//	    - priority: 30
func (m *module) install(ctx context.Context, a installArgs) (change.Result, error) {
	asked := data.NewMap("link", a.Link, "path", a.Path, "priority", a.Priority)
	changes := data.NewMap("name", a.Name)
	changes.Update(asked)
	priority, output := " with priority "+data.Str(a.Priority), any(nil)
	type state struct{ there, inForce bool }
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (s state, err error) {
			if s.there, err = m.is(ctx, "check_exists", a.Name, a.Path); s.there {
				s.inForce, err = m.is(ctx, "check_installed", a.Name, a.Path)
			}
			return s, err
		},
		Wants: func(now state) *data.Map { return change.When(!now.there, changes) },
		Apply: func(ctx context.Context, _ state) (err error) {
			output, err = m.call(ctx, "install", a.Name, a.Link, a.Path, a.Priority)
			return err
		},
		Texts: change.Texts{
			Same:  "Alternative " + a.Path + " for " + a.Name + " is already registered",
			Would: "Alternative will be set for " + a.Name + " to " + a.Path + priority,
			Done:  "Alternative for " + a.Name + " set to path " + a.Path + priority,
		},
		Say: func(o change.Outcome[state]) any {
			switch {
			case o.Stage == change.StageFailed:
				return "Alternative for " + a.Name + " not installed: " + data.Str(output)
			case o.Stage == change.StageDone && !o.After.inForce:
				return "Alternative " + a.Path + " for " + a.Name + " registered" + priority +
					" and not set to default"
			}
			return nil
		},
		Silent: true,
		More:   asked,
	}.Ensure(ctx)
}

type pathArgs struct{ Name, Path string }

// remove removes a path from the alternatives of a name.
//
//	editor:
//	  alternatives.remove:
//	    - path: /usr/bin/vim.basic
func (m *module) remove(ctx context.Context, a pathArgs) (change.Result, error) {
	type state struct {
		there   bool
		current string // if it is not an alternative
	}
	removed, of := false, "Alternative for "+a.Name
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (s state, err error) {
			if s.there, err = m.is(ctx, "check_exists", a.Name, a.Path); err != nil || s.there {
				return s, err
			}
			s.current, err = m.current(ctx, a.Name)
			if err == nil && s.current == "" && !removed {
				err = errors.New(of + " doesn't exist")
			}
			return s, err
		},
		Wants: func(now state) *data.Map { return change.When(now.there, data.NewMap("path", a.Path)) },
		Apply: func(ctx context.Context, _ state) error {
			removed = true
			_, err := m.call(ctx, "remove", a.Name, a.Path)
			return err
		},
		Changed: func(_, after state) *data.Map {
			return change.When(after.current != "", data.NewMap("path", after.current))
		},
		Texts: change.Texts{Would: of + " will be removed", Done: of + " removed"},
		Say: func(o change.Outcome[state]) any {
			switch {
			case o.Stage == change.StageSame:
				return of + " is set to it's default path " + o.Before.current
			case o.Stage == change.StageDone && o.After.current != "":
				return of + " removed. Falling back to path " + o.After.current
			}
			return nil
		},
		Silent: true,
		More:   data.NewMap("path", a.Path),
	}.Ensure(ctx)
}

type nameArgs struct{ Name string }

// auto selects the alternative of a name by priority.
//
//	editor:
//	  alternatives.auto
func (m *module) auto(ctx context.Context, a nameArgs) (change.Result, error) {
	var output any
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			text, err := m.call(ctx, "display", a.Name)
			first, _, _ := strings.Cut(data.Str(text), "\n")
			return strings.HasSuffix(first, " auto mode"), err
		},
		Wants: func(is bool) *data.Map { return change.When(!is, data.NewMap("mode", "auto")) },
		Apply: func(ctx context.Context, _ bool) (err error) {
			output, err = m.call(ctx, "auto", a.Name)
			return err
		},
		Changed: func(_, _ bool) *data.Map { return data.NewMap("result", output) },
		Texts: change.Texts{
			Same:  a.Name + " already in auto mode",
			Would: a.Name + " will be put in auto mode",
		},
		Silent: true,
	}.Ensure(ctx)
}

// set selects a path, which must be an alternative of the name.
//
//	editor:
//	  alternatives.set:
//	    - path: /usr/bin/vim.basic
func (m *module) set(ctx context.Context, a pathArgs) (change.Result, error) {
	of, applied := "Alternative for "+a.Name, false
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			now, err := m.current(ctx, a.Name)
			if err != nil || now == a.Path || applied {
				return now, err
			}
			there, err := m.is(ctx, "check_exists", a.Name, a.Path)
			if err == nil && !there {
				err = errors.New("Alternative " + a.Path + " for " + a.Name + " doesn't exist")
			}
			return now, err
		},
		Wants: func(now string) *data.Map {
			return change.When(now != a.Path, data.NewMap("path", a.Path))
		},
		Apply: func(ctx context.Context, _ string) error {
			applied = true
			_, err := m.call(ctx, "set", a.Name, a.Path)
			return err
		},
		Texts: change.Texts{
			Same:   of + " already set to " + a.Path,
			Would:  of + " will be set to path " + a.Path,
			Done:   of + " set to path " + a.Path,
			Failed: of + " not updated",
		},
		Silent: true,
		More:   data.NewMap("path", a.Path),
	}.Ensure(ctx)
}

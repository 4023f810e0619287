// Package alternatives is Salt's state alternatives: which program stands behind a name such as editor (salt/states/alternatives.py). The
// module alternatives does the work.
package alternatives

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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
	return m.env.Call(ctx, "alternatives."+fun, args, nil)
}

// with adds to a result what the state was called with.
func with(ret *data.Map, pairs ...any) *data.Map {
	ret.Update(data.NewMap(pairs...))
	return ret
}

type installArgs struct {
	Name, Link, Path string
	Priority         any
}

// install makes a path, which must be there, an alternative of a name.
//
// link
//
//	The link that all use, such as /usr/bin/editor.
//
// priority
//
//	A number: the highest counts where nothing else is set.
//
//	editor:
//	  alternatives.install:
//	    - link: /usr/bin/editor
//	    - path: /usr/bin/vim.basic
//	    - priority: 30
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	result := func(r *data.Map) (any, error) {
		return with(r, "link", a.Link, "path", a.Path, "priority", a.Priority), nil
	}
	there, err := m.call(ctx, "check_exists", a.Name, a.Path)
	switch {
	case err != nil:
		return nil, err
	case there == true:
		return result(change.Done(a.Name, fmt.Sprintf("Alternative %s for %s is already registered", a.Path, a.Name)))
	case change.Test(ctx):
		return result(change.Would(a.Name, nil, fmt.Sprintf("Alternative will be set for %s to %s with priority %s", a.Name, a.Path, data.Str(a.Priority))))
	}
	said, err := m.call(ctx, "install", a.Name, a.Link, a.Path, a.Priority)
	if err != nil {
		return nil, err
	}
	if there, err = m.call(ctx, "check_exists", a.Name, a.Path); err != nil {
		return nil, err
	}
	if there != true {
		return result(change.Failed(a.Name, fmt.Sprintf("Alternative for %s not installed: %s", a.Name, data.Str(said))))
	}
	inForce, err := m.call(ctx, "check_installed", a.Name, a.Path)
	if err != nil {
		return nil, err
	}
	comment := fmt.Sprintf("Alternative for %s set to path %s with priority %s", a.Name, a.Path, data.Str(a.Priority))
	if inForce != true {
		comment = fmt.Sprintf("Alternative %s for %s registered with priority %s and not set to default", a.Path, a.Name, data.Str(a.Priority))
	}
	changes := data.NewMap("name", a.Name, "link", a.Link, "path", a.Path, "priority", a.Priority)
	return result(change.New(a.Name, true, changes, comment))
}

type pathArgs struct{ Name, Path string }

// remove takes a path from the alternatives of a name.
//
//	editor:
//	  alternatives.remove:
//	    - path: /usr/bin/vim.basic
func (m *module) remove(ctx context.Context, a pathArgs) (any, error) {
	result := func(r *data.Map) (any, error) { return with(r, "path", a.Path), nil }
	there, err := m.call(ctx, "check_exists", a.Name, a.Path)
	switch {
	case err != nil:
		return nil, err
	case there == true && change.Test(ctx):
		return result(change.Would(a.Name, nil, fmt.Sprintf("Alternative for %s will be removed", a.Name)))
	case there == true:
		if _, err := m.call(ctx, "remove", a.Name, a.Path); err != nil {
			return nil, err
		}
	}
	current, err := m.call(ctx, "show_current", a.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case there == true && data.Truth(current):
		return result(change.New(a.Name, true, data.NewMap("path", current), fmt.Sprintf("Alternative for %s removed. Falling back to path %s", a.Name, data.Str(current))))
	case there == true:
		return result(change.New(a.Name, true, nil, fmt.Sprintf("Alternative for %s removed", a.Name)))
	case data.Truth(current):
		return result(change.Done(a.Name, fmt.Sprintf("Alternative for %s is set to it's default path %s", a.Name, data.Str(current))))
	}
	return result(change.Failed(a.Name, fmt.Sprintf("Alternative for %s doesn't exist", a.Name)))
}

type nameArgs struct{ Name string }

// auto lets priorities say which path stands behind a name.
//
//	editor:
//	  alternatives.auto
func (m *module) auto(ctx context.Context, a nameArgs) (any, error) {
	text, err := m.call(ctx, "display", a.Name)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(data.Str(text), "\n")
	switch {
	case strings.HasSuffix(first, " auto mode"):
		return change.Done(a.Name, a.Name+" already in auto mode"), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, a.Name+" will be put in auto mode"), nil
	}
	said, err := m.call(ctx, "auto", a.Name)
	if err != nil {
		return nil, err
	}
	return change.New(a.Name, true, data.NewMap("result", said), ""), nil
}

// set puts a path, which is an alternative of a name, behind it.
//
//	editor:
//	  alternatives.set:
//	    - path: /usr/bin/vim.basic
func (m *module) set(ctx context.Context, a pathArgs) (any, error) {
	result := func(r *data.Map) (any, error) { return with(r, "path", a.Path), nil }
	current, err := m.call(ctx, "show_current", a.Name)
	if err != nil {
		return nil, err
	}
	if current == a.Path {
		return result(change.Done(a.Name, fmt.Sprintf("Alternative for %s already set to %s", a.Name, a.Path)))
	}
	there, err := m.call(ctx, "check_exists", a.Name, a.Path)
	switch {
	case err != nil:
		return nil, err
	case there != true:
		return result(change.Failed(a.Name, fmt.Sprintf("Alternative %s for %s doesn't exist", a.Path, a.Name)))
	case change.Test(ctx):
		return result(change.Would(a.Name, nil, fmt.Sprintf("Alternative for %s will be set to path %s", a.Name, a.Path)))
	}
	if _, err := m.call(ctx, "set", a.Name, a.Path); err != nil {
		return nil, err
	}
	if current, err = m.call(ctx, "show_current", a.Name); err != nil {
		return nil, err
	}
	if current != a.Path {
		return result(change.Failed(a.Name, fmt.Sprintf("Alternative for %s not updated", a.Name)))
	}
	return result(change.New(a.Name, true, data.NewMap("path", current), fmt.Sprintf("Alternative for %s set to path %s", a.Name, data.Str(current))))
}

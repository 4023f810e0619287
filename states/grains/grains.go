// Package grains is Salt's state grains: it keeps grains in the minion's grains file (salt/states/grains.py). The module grains
// reads and writes them.
//
// Names lead into dictionaries by colons; another delimiter is replaced by them first, and is no regular expression.
//
// What differs from Salt: list_present adds the values that are missing and never one that is there, values are equal when they
// are the same and not when they have the same letters, and changes show the grain as it was when the state had run.
package grains

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state grains.
func Plugin() loader.Plugin { return loader.Plugin{Name: "grains", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("exists", m.exists),
		loader.F("present", m.present),
		loader.F("absent", m.absent),
		loader.F("list_present", m.listPresent),
		loader.F("list_absent", m.listAbsent),
		loader.F("append", m.append),
	}}, nil
}

// nothing stands for a grain that is not there.
type nothing struct{}

// A grain is one as it is read.
type grain struct {
	value any
	there bool
}

// list returns the values of a grain that is a list.
func (g grain) list() []any {
	list, _ := g.value.([]any)
	return list
}

func (g grain) isList() bool {
	_, ok := g.value.([]any)
	return ok
}

// grain reads a grain.
func (m *module) grain(ctx context.Context, name string) (grain, error) {
	v, err := change.Ask[any](ctx, m.env, "grains.get", []any{name, nothing{}}, nil)
	if _, missing := v.(nothing); missing || err != nil {
		return grain{}, err
	}
	return grain{v, true}, nil
}

// set sets a grain and returns the result of that, with the state's name.
func (m *module) set(ctx context.Context, name string, v any, words *data.Map) (*data.Map, error) {
	ret, err := change.Ask[*data.Map](ctx, m.env, "grains.set", []any{name, v}, words)
	if err != nil {
		return nil, err
	}
	ret = ret.Clone()
	ret.Set("name", name)
	return ret, nil
}

// colons returns a name with colons between its keys.
func colons(name, delimiter any) string {
	if d := data.Str(delimiter); d != "" {
		return strings.ReplaceAll(data.Str(name), d, ":")
	}
	return data.Str(name)
}

func has(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return data.Equal(e, v) })
}

type existsArgs struct {
	Name      any
	Delimiter any `default:"':'"`
}

// exists succeeds when the minion has a grain.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
//
//	cheese:
//	  grains.exists
func (m *module) exists(ctx context.Context, a existsArgs) (change.Result, error) {
	name := colons(a.Name, a.Delimiter)
	return change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (grain, error) {
			now, err := m.grain(ctx, name)
			if err == nil && !now.there {
				err = errors.New("Grain does not exist")
			}
			return now, err
		},
		Wants: func(grain) *data.Map { return nil },
		Texts: change.Texts{Same: "Grain exists"},
	}.Ensure(ctx)
}

type presentArgs struct {
	Name      any
	Value     any
	Delimiter any `default:"':'"`
	Force     any `default:"False"`
}

// present gives a grain a value.
//
// value
//
//	The value.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
//
// force
//
//	True: replace lists and dictionaries, too.
//
//	cheese:
//	  grains.present:
//	    - value: edam
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	var ret *data.Map // of grains.set
	said, err := change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (grain, error) { return m.grain(ctx, name) },
		Wants: func(now grain) *data.Map {
			if !now.there {
				return data.NewMap("new", name)
			}
			changes := data.NewMap("changed", data.NewMap(name, a.Value))
			return change.When(!data.Equal(now.value, a.Value), changes)
		},
		Apply: func(ctx context.Context, _ grain) (err error) {
			ret, err = m.set(ctx, name, a.Value, data.NewMap("force", a.Force))
			return err
		},
		Texts: change.Texts{
			Same:  "Grain is already set",
			Would: "Grain " + name + " is set to be changed",
		},
		Say: func(o change.Outcome[grain]) any {
			if o.Stage == change.StageWould && !o.Before.there {
				return "Grain " + name + " is set to be added"
			}
			return nil
		},
		Trust: true,
	}.Ensure(ctx)
	switch {
	case err != nil || ret == nil:
		return said, err
	case ret.Value("result") == true && data.Truth(ret.Value("changes")):
		ret.Set("comment", "Set grain "+name+" to "+data.Str(a.Value))
	}
	return ret, nil
}

type absentArgs struct {
	Name        any
	Destructive any `default:"False"`
	Delimiter   any `default:"':'"`
	Force       any `default:"False"`
}

// absent takes the value of a grain away, or the grain.
//
// destructive
//
//	True: the grain is removed. Default: its value is None.
//
// delimiter
//
//	Separates keys in the name in place of the colon.
//
// force
//
//	True: lists and dictionaries, too.
//
//	grain_name:
//	  grains.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	name, remove := colons(a.Name, a.Delimiter), a.Destructive == true
	var ret *data.Map // of grains.set
	var was grain
	said, err := change.Thing[grain]{
		Name: name,
		Look: func(ctx context.Context) (_ grain, err error) {
			was, err = m.grain(ctx, name)
			return was, err
		},
		Wants: func(now grain) *data.Map {
			if remove {
				return change.When(now.there, data.NewMap("deleted", name))
			}
			return change.When(now.there, data.NewMap("grain", name, "value", nil))
		},
		Apply: func(ctx context.Context, _ grain) (err error) {
			ret, err = m.set(ctx, name, nil, data.NewMap("destructive", a.Destructive, "force", a.Force))
			return err
		},
		Texts: change.Texts{
			Same:  "Grain " + name + " does not exist",
			Would: "Value for grain " + name + " is set to be deleted (None)",
			Done:  "Value for grain " + name + " was set to None",
		},
		Say: func(o change.Outcome[grain]) any {
			switch {
			case remove && o.Stage == change.StageWould:
				return "Grain " + name + " is set to be deleted"
			case remove && o.Stage == change.StageDone:
				return "Grain " + name + " was deleted"
			}
			return nil
		},
		Trust: true,
	}.Ensure(ctx)
	nothing := was.there && was.value == nil && !remove // to do, which Salt says in this way
	switch {
	case err != nil:
		return nil, err
	case nothing && ret == nil:
		return change.Would(name, nil, ""), nil
	case ret == nil:
		return said, nil
	case ret.Value("result") == true && !nothing:
		ret.Set("comment", said.Comment)
		ret.Set("changes", said.Changes)
	}
	return ret, nil
}

// Package grains is Salt's state grains: it manages grains in the minion's grains file
// (salt/states/grains.py). The module grains reads and writes them.
//
// Colons in names separate the keys of nested dictionaries. Another delimiter is first replaced by
// colons; it is not a regular expression.
//
// Differences from Salt: list_present adds only the missing values. Values are equal if they are
// the same, not if they have the same letters. Changes show the grain as it was after the state.
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

// missing is the value of a missing grain.
type missing struct{}

// A grain is a grain as read.
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
	v, err := change.Ask[any](ctx, m.env, "grains.get", []any{name, missing{}}, nil)
	if _, missing := v.(missing); missing || err != nil {
		return grain{}, err
	}
	return grain{v, true}, nil
}

// set sets a grain and returns the result, with the state's name.
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

// exists succeeds if the minion has a grain.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
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
				//nolint:staticcheck // Salt's text
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

// present sets the value of a grain.
//
// value
//
//	The value.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
//
// force
//
//	True: replace lists and dictionaries as well.
//
//	cheese:
//	  grains.present:
//	    - value: edam
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	var ret *data.Map // result of grains.set
	result, err := change.Thing[grain]{
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
		return result, err
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

// absent removes a grain or its value.
//
// destructive
//
//	True: remove the grain. Default: set its value to None.
//
// delimiter
//
//	The delimiter between keys in the name. Default: a colon.
//
// force
//
//	True: remove lists and dictionaries as well.
//
//	grain_name:
//	  grains.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	name, remove := colons(a.Name, a.Delimiter), a.Destructive == true
	var ret *data.Map // result of grains.set
	var was grain
	result, err := change.Thing[grain]{
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
			ret, err = m.set(ctx, name, nil,
				data.NewMap("destructive", a.Destructive, "force", a.Force))
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
	// nothing to do; this is Salt's form of saying so
	unchanged := was.there && was.value == nil && !remove
	switch {
	case err != nil:
		return nil, err
	case unchanged && ret == nil:
		return change.Would(name, nil, ""), nil
	case ret == nil:
		return result, nil
	case ret.Value("result") == true && !unchanged:
		ret.Set("comment", result.Comment)
		ret.Set("changes", result.Changes)
	}
	return ret, nil
}

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
	"fmt"
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

// grain returns a grain, and whether it is there.
func (m *module) grain(ctx context.Context, name string) (any, bool, error) {
	v, err := m.env.Call(ctx, "grains.get", []any{name, nothing{}}, nil)
	_, missing := v.(nothing)
	if missing {
		v = nil
	}
	return v, !missing && err == nil, err
}

// set sets a grain and returns the result of that, with the state's name.
func (m *module) set(ctx context.Context, name string, v any, words *data.Map) (*data.Map, error) {
	done, err := m.env.Call(ctx, "grains.set", []any{name, v}, words)
	if err != nil {
		return nil, err
	}
	ret, ok := done.(*data.Map)
	if !ok {
		return nil, loader.Execution("grains.set returned no result: %s", data.Str(done))
	}
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
func (m *module) exists(ctx context.Context, a existsArgs) (any, error) {
	name := colons(a.Name, a.Delimiter)
	_, ok, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return change.Failed(name, "Grain does not exist"), nil
	}
	return change.Done(name, "Grain exists"), nil
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
	now, ok, err := m.grain(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case ok && data.Equal(now, a.Value):
		return change.Done(name, "Grain is already set"), nil
	case change.Test(ctx) && !ok:
		return change.Would(name, data.NewMap("new", name), fmt.Sprintf("Grain %s is set to be added", name)), nil
	case change.Test(ctx):
		return change.Would(name, data.NewMap("changed", data.NewMap(name, a.Value)), fmt.Sprintf("Grain %s is set to be changed", name)), nil
	}
	ret, err := m.set(ctx, name, a.Value, data.NewMap("force", a.Force))
	if err == nil && ret.Value("result") == true && data.Truth(ret.Value("changes")) {
		ret.Set("comment", fmt.Sprintf("Set grain %s to %s", name, data.Str(a.Value)))
	}
	return ret, err
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
	now, ok, err := m.grain(ctx, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return change.Done(name, fmt.Sprintf("Grain %s does not exist", name)), nil
	}
	would, done, changes := "", "", &data.Map{}
	switch {
	case remove:
		would, done, changes = fmt.Sprintf("Grain %s is set to be deleted", name), fmt.Sprintf("Grain %s was deleted", name), data.NewMap("deleted", name)
	case now != nil:
		would, done = fmt.Sprintf("Value for grain %s is set to be deleted (None)", name), fmt.Sprintf("Value for grain %s was set to None", name)
		changes = data.NewMap("grain", name, "value", nil)
	}
	if change.Test(ctx) {
		return change.Would(name, changes, would), nil
	}
	ret, err := m.set(ctx, name, nil, data.NewMap("destructive", a.Destructive, "force", a.Force))
	if err == nil && data.Truth(ret.Value("result")) && done != "" {
		ret.Set("comment", done)
		ret.Set("changes", changes)
	}
	return ret, err
}

// Package environ is Salt's state environ: it sets variables of the environment that the minion's programs get
// (salt/states/environ.py).
//
// What is odd, and as in Salt: test mode says that variables will be changed with the result True.
package environ

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state environ.
func Plugin() loader.Plugin { return loader.Plugin{Name: "environ", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("setenv", m.setenv)}}, nil
}

type setenvArgs struct {
	Name         any
	Value        any
	FalseUnsets  any `default:"False"`
	ClearAll     any `default:"False"`
	UpdateMinion any `default:"False"`
	Permanent    any `default:"False"`
}

// setenv sets variables of the environment.
//
// name
//
//	The variable; any text where value is a dictionary.
//
// value
//
//	Its value, or a dictionary of variables. False makes a variable empty.
//
// false_unsets
//
//	True: False removes a variable.
//
// clear_all
//
//	True: variables that are not named are made empty, or removed.
//
// update_minion
//
//	True: the minion is told, so that later jobs have the variables, too.
//
// permanent
//
//	True: keep them in the registry. For Windows.
//
//	a-script:
//	  environ.setenv:
//	    - name: foo
//	    - value: bar
func (m *module) setenv(ctx context.Context, a setenvArgs) (any, error) {
	wanted, ok := variables(a)
	if !ok {
		return change.Failed(a.Name, "Environ value must be string, dict or False"), nil
	}
	changes := &data.Map{}
	if a.ClearAll == true {
		clearing(wanted, changes, a.FalseUnsets == true)
	}
	for key, v := range wanted.All() {
		if then, differs := differing(data.Str(key), v, a.FalseUnsets == true); differs {
			changes.Set(key, then)
		}
	}
	some := changes.Len() > 0
	switch {
	case change.Test(ctx) && some:
		return change.New(a.Name, true, changes, "Environ values will be changed"), nil
	case change.Test(ctx):
		return change.Done(a.Name, "Environ values are already set with the correct values"), nil
	case !some:
		return change.Done(a.Name, "Environ values were already set with the correct values"), nil
	}
	set, err := m.env.Call(ctx, "environ.setenv", []any{wanted, a.FalseUnsets, a.ClearAll, a.UpdateMinion, a.Permanent}, nil)
	if err != nil {
		return nil, err
	}
	if made, ok := set.(*data.Map); ok && data.Truth(set) {
		return change.New(a.Name, true, made, "Environ values were set"), nil
	}
	return change.New(a.Name, false, changes, "Failed to set environ variables"), nil
}

func variables(a setenvArgs) (*data.Map, bool) {
	switch v := a.Value.(type) {
	case string:
		return data.NewMap(a.Name, v), true
	case bool:
		return data.NewMap(a.Name, v), !v
	case *data.Map:
		return v, true
	}
	return nil, false
}

// clearing notes what becomes of the variables that are not named.
func clearing(wanted, changes *data.Map, unset bool) {
	for _, line := range os.Environ() {
		if key, _, ok := strings.Cut(line, "="); ok && !wanted.Has(key) {
			changes.Set(key, emptied(unset))
		}
	}
}

// emptied is what a variable becomes that is made empty, or removed.
func emptied(unset bool) any {
	if unset {
		return nil
	}
	return ""
}

// differing returns what a variable becomes, and whether that is a change.
func differing(key string, v any, unset bool) (any, bool) {
	now, set := lookup(key)
	switch {
	case v == false && !set:
		return "", !unset
	case v == false:
		return emptied(unset), unset || now != ""
	}
	return v, !data.Equal(now, v)
}

// lookup returns a variable; on Windows their names have no case.
func lookup(key string) (string, bool) {
	if runtime.GOOS != "windows" {
		return os.LookupEnv(key)
	}
	at := slices.IndexFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(strings.ToUpper(line), strings.ToUpper(key)+"=") })
	if at < 0 {
		return "", false
	}
	_, v, _ := strings.Cut(os.Environ()[at], "=")
	return v, true
}

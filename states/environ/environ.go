// Package environ is Salt's state environ: it sets environment variables for the programs that the
// minion starts (salt/states/environ.py).
//
// Oddity kept from Salt: in test mode, the result for variables that will change is True.
package environ

import (
	"context"
	"errors"
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

// setenv sets environment variables.
//
// name
//
//	The name of the variable. If value is a dictionary, the name is just a label.
//
// value
//
//	The value, or a dictionary of variables. False empties a variable.
//
// false_unsets
//
//	True: the value False removes a variable instead of emptying it.
//
// clear_all
//
//	True: variables that are not named are emptied, or removed.
//
// update_minion
//
//	True: the minion itself gets the variables, so that later jobs have them.
//
// permanent
//
//	True: store the variables in the registry. Windows only.
//
//	a-script:
//	  environ.setenv:
//	    - name: foo
//	    - value: bar
func (m *module) setenv(ctx context.Context, a setenvArgs) (change.Result, error) {
	wanted, ok := variables(a)
	if !ok {
		return change.Refuse(a.Name, "Environ value must be string, dict or False")
	}
	ret, err := change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(context.Context) (*data.Map, error) { return differing(wanted, a), nil },
		Wants: func(now *data.Map) *data.Map { return now },
		Apply: func(ctx context.Context, now *data.Map) error {
			args := []any{wanted, a.FalseUnsets, a.ClearAll, a.UpdateMinion, a.Permanent}
			set, err := change.Ask[any](ctx, m.env, "environ.setenv", args, nil)
			made, ok := set.(*data.Map)
			switch {
			case err != nil:
				return err
			case !ok || made.Len() == 0:
				//nolint:staticcheck // Salt's text
				return errors.New("Failed to set environ variables")
			}
			now.Clear()
			now.Update(made)
			return nil
		},
		Changed: func(_, now *data.Map) *data.Map { return now },
		Say: func(o change.Outcome[*data.Map]) any {
			if o.Test && o.Stage == change.StageSame {
				return "Environ values are already set with the correct values"
			}
			return nil
		},
		Trust: true, // count what was set, even if it was set before
		Texts: change.Texts{
			Same:  "Environ values were already set with the correct values",
			Would: "Environ values will be changed",
			Done:  "Environ values were set",
		},
	}.Ensure(ctx)
	if ret.Verdict == change.Pending {
		ret.Verdict = change.Success
	}
	return ret, err
}

// differing returns the new values of the variables that differ.
func differing(wanted *data.Map, a setenvArgs) *data.Map {
	changes, unset := &data.Map{}, a.FalseUnsets == true
	if a.ClearAll == true {
		clearing(wanted, changes, unset)
	}
	for key, v := range wanted.All() {
		if then, differs := newValue(data.Str(key), v, unset); differs {
			changes.Set(key, then)
		}
	}
	return changes
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

// clearing records the changes for variables that are not named.
func clearing(wanted, changes *data.Map, unset bool) {
	for _, line := range os.Environ() {
		if key, _, ok := strings.Cut(line, "="); ok && !wanted.Has(key) {
			changes.Set(key, emptied(unset))
		}
	}
}

// emptied returns the new value of a variable that is emptied or removed.
func emptied(unset bool) any {
	if unset {
		return nil
	}
	return ""
}

// newValue returns the new value of a variable, and whether it is a change.
func newValue(key string, v any, unset bool) (any, bool) {
	now, set := lookup(key)
	switch {
	case v == false && !set:
		return "", !unset
	case v == false:
		return emptied(unset), unset || now != ""
	}
	return v, !data.Equal(now, v)
}

// lookup returns a variable. On Windows names are case-insensitive.
func lookup(key string) (string, bool) {
	if runtime.GOOS != "windows" {
		return os.LookupEnv(key)
	}
	at := slices.IndexFunc(os.Environ(),
		func(line string) bool {
			return strings.HasPrefix(strings.ToUpper(line),
				strings.ToUpper(key)+"=")
		})
	if at < 0 {
		return "", false
	}
	_, v, _ := strings.Cut(os.Environ()[at], "=")
	return v, true
}

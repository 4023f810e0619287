// Package environ is Salt's state environ: it sets variables of the environment that the minion's programs get
// (salt/states/environ.py).
//
// What is odd, and as in Salt: test mode says that variables will be changed with the result True.
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
		Trust: true, // what was set counts, whether it was so before or not
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

// differing returns what the variables become that are not as wanted.
func differing(wanted *data.Map, a setenvArgs) *data.Map {
	changes, unset := &data.Map{}, a.FalseUnsets == true
	if a.ClearAll == true {
		clearing(wanted, changes, unset)
	}
	for key, v := range wanted.All() {
		if then, differs := becomes(data.Str(key), v, unset); differs {
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

// becomes returns what a variable becomes, and whether that is a change.
func becomes(key string, v any, unset bool) (any, bool) {
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

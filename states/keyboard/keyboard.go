// Package keyboard is Salt's state keyboard: the layouts of the system's keyboard and of X
// (salt/states/keyboard.py). It uses the module keyboard.
package keyboard

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state keyboard. It is available on hosts with the module keyboard.
func Plugin() loader.Plugin { return loader.Plugin{Name: "keyboard", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("keyboard.get_sys") {
		return nil, errors.New("keyboard module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("system", m.system),
		loader.F("xorg", m.xorg),
	}}, nil
}

type nameArgs struct{ Name string }

// system keeps the layout of the system's keyboard.
//
//	us:
//	  keyboard.system
func (m *module) system(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.layout(ctx, a.Name, "System", "system", "sys")
}

// xorg keeps the layout of the keyboard in X.
//
//	us:
//	  keyboard.xorg
func (m *module) xorg(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.layout(ctx, a.Name, "XOrg", "XOrg", "x")
}

func (m *module) layout(ctx context.Context, name, title, word, fun string) (change.Result, error) {
	failed := "Failed to set " + word + " keyboard layout"
	return change.Thing[string]{
		Name: name,
		Look: func(ctx context.Context) (string, error) {
			return change.Ask[string](ctx, m.env, "keyboard.get_"+fun, nil, nil)
		},
		Wants: func(now string) *data.Map { return change.When(now != name, data.NewMap("layout", name)) },
		Apply: func(ctx context.Context, _ string) error {
			_, err := m.env.Call(ctx, "keyboard.set_"+fun, []any{name}, nil)
			if loader.KindOf(err) == loader.KindExecution {
				err = change.Reason(failed + ": " + err.Error())
			}
			return change.Except(err, loader.KindExecution)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   title + " layout " + name + " already set",
			Would:  title + " layout " + name + " needs to be set",
			Done:   "Set " + word + " keyboard layout " + name,
			Failed: failed,
		},
	}.Ensure(ctx)
}

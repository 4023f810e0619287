// Package locale is Salt's state locale: the available locales and the system's locale
// (salt/states/locale.py). It uses the module locale.
//
// Difference from Salt: after setting or generating a locale, the state checks again.
package locale

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state locale.
func Plugin() loader.Plugin { return loader.Plugin{Name: "locale", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("locale.get_locale") {
		return nil, errors.New(env.Functions.MissingText("locale.get_locale"))
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("present", m.present),
		loader.F("system", m.system),
	}}, nil
}

type nameArgs struct{ Name string }

// system sets the system's locale.
//
//	default_locale:
//	  locale.system:
//	    - name: en_US.UTF-8
func (m *module) system(ctx context.Context, a nameArgs) (change.Result, error) {
	look := func(ctx context.Context) (bool, error) {
		now, err := loader.CallAs[string](ctx, m.env, "locale.get_locale", nil, nil)
		return now == a.Name, explain(err)
	}
	set := func(ctx context.Context) (bool, error) {
		ok, err := loader.CallAs[bool](ctx, m.env, "locale.set_locale", []any{a.Name}, nil)
		return ok, explain(err)
	}
	return setUnlessSet(ctx, a.Name, look, set, change.Texts{
		Same:   "System locale " + a.Name + " already set",
		Would:  "System locale " + a.Name + " needs to be set",
		Done:   "Set system locale " + a.Name,
		Failed: "Failed to set system locale to " + a.Name,
	})
}

// explain makes an error of the module locale fail the state. Others are raised.
func explain(err error) error {
	if loader.KindOf(err) == loader.KindExecution {
		//nolint:staticcheck // Salt's text
		return fmt.Errorf("Failed to set system locale: %w", err)
	}
	return change.Raise(err)
}

// present makes a locale available. Debian and Gentoo also need its charmap, as in en_IE.UTF-8
// UTF-8, if it differs from the codeset.
//
//	us_locale:
//	  locale.present:
//	    - name: en_US.UTF-8
func (m *module) present(ctx context.Context, a nameArgs) (change.Result, error) {
	ask := func(fun string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			yes, err := loader.CallAs[bool](ctx, m.env, fun, []any{a.Name}, nil)
			return yes, change.Raise(err)
		}
	}
	return setUnlessSet(ctx, a.Name, ask("locale.avail"), ask("locale.gen_locale"), change.Texts{
		Same:   "Locale " + a.Name + " is already present",
		Would:  "Locale " + a.Name + " needs to be generated",
		Done:   "Generated locale " + a.Name,
		Failed: "Failed to generate locale " + a.Name,
	})
}

// setUnlessSet sets a locale unless it is already set. look and set report whether it is set.
func setUnlessSet(
	ctx context.Context, name string, look, set func(context.Context) (bool, error),
	texts change.Texts,
) (change.Result, error) {
	return change.Thing[bool]{
		Name: name,
		Look: look,
		Wants: func(is bool) *data.Map {
			if is {
				return nil
			}
			return data.NewMap("locale", name)
		},
		Apply: func(ctx context.Context, _ bool) error {
			ok, err := set(ctx)
			if err == nil && !ok {
				return errors.New(texts.Failed)
			}
			return err
		},
		Silent: true,
		Texts:  texts,
	}.Ensure(ctx)
}

// Package locale is Salt's state locale: locales that there are to be, and that of the system (salt/states/locale.py). The module locale
// does the work.
//
// What differs from Salt: a locale that was set or made is looked for again.
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

// system gives the system a locale.
//
//	default_locale:
//	  locale.system:
//	    - name: en_US.UTF-8
func (m *module) system(ctx context.Context, a nameArgs) (change.Result, error) {
	look := func(ctx context.Context) (bool, error) {
		now, err := m.env.Call(ctx, "locale.get_locale", nil, nil)
		return now == a.Name, explain(err)
	}
	set := func(ctx context.Context) (bool, error) {
		ok, err := loader.CallAs[bool](ctx, m.env, "locale.set_locale", []any{a.Name}, nil)
		return ok, explain(err)
	}
	return bring(ctx, a.Name, look, set, change.Texts{
		Same:   "System locale " + a.Name + " already set",
		Would:  "System locale " + a.Name + " needs to be set",
		Done:   "Set system locale " + a.Name,
		Failed: "Failed to set system locale to " + a.Name,
	})
}

// explain has an error of the module locale fail the state; others are raised.
func explain(err error) error {
	if loader.KindOf(err) == loader.KindExecution {
		return fmt.Errorf("Failed to set system locale: %w", err)
	}
	return change.Raise(err)
}

// present has there be a locale. Debian and Gentoo also want its charmap, as in en_IE.UTF-8 UTF-8, where it is not the codeset.
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
	return bring(ctx, a.Name, ask("locale.avail"), ask("locale.gen_locale"), change.Texts{
		Same:   "Locale " + a.Name + " is already present",
		Would:  "Locale " + a.Name + " needs to be generated",
		Done:   "Generated locale " + a.Name,
		Failed: "Failed to generate locale " + a.Name,
	})
}

// bring makes a locale so where it is not; look and set report whether it is so and was made so.
func bring(
	ctx context.Context, name string, look, set func(context.Context) (bool, error), texts change.Texts,
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

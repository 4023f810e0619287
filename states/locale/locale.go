// Package locale is Salt's state locale: locales that there are to be, and that of the system (salt/states/locale.py). The module locale
// does the work.
//
// What differs from Salt: a locale that was set or made is looked for again.
package locale

import (
	"context"
	"errors"

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
func (m *module) system(ctx context.Context, a nameArgs) (any, error) {
	look := func() (bool, error) {
		v, err := m.env.Call(ctx, "locale.get_locale", nil, nil)
		return v == a.Name, err
	}
	ret, err := m.bring(ctx, a.Name, look, "locale.set_locale", [4]string{"System locale " + a.Name + " already set", "System locale " + a.Name + " needs to be set",
		"Set system locale " + a.Name, "Failed to set system locale to " + a.Name})
	if loader.KindOf(err) == loader.KindExecution {
		return change.Failed(a.Name, "Failed to set system locale: "+err.Error()), nil
	}
	return ret, err
}

// present has there be a locale. Debian and Gentoo also want its charmap, as in en_IE.UTF-8 UTF-8, where it is not the codeset.
//
//	us_locale:
//	  locale.present:
//	    - name: en_US.UTF-8
func (m *module) present(ctx context.Context, a nameArgs) (any, error) {
	look := func() (bool, error) {
		v, err := m.env.Call(ctx, "locale.avail", []any{a.Name}, nil)
		return data.Truth(v), err
	}
	return m.bring(ctx, a.Name, look, "locale.gen_locale", [4]string{"Locale " + a.Name + " is already present", "Locale " + a.Name + " needs to be generated",
		"Generated locale " + a.Name, "Failed to generate locale " + a.Name})
}

// bring calls a function where a locale is not as it is to be. says are the comments: it is, it would be, it was, it was not made so.
func (m *module) bring(ctx context.Context, name string, look func() (bool, error), fun string, says [4]string) (any, error) {
	is, err := look()
	switch {
	case err != nil:
		return nil, err
	case is:
		return change.Done(name, says[0]), nil
	case change.Test(ctx):
		return change.New(name, nil, nil, says[1]), nil
	}
	ok, err := m.env.Call(ctx, fun, []any{name}, nil)
	if err != nil {
		return nil, err
	}
	if is, err = look(); err != nil {
		return nil, err
	}
	if !data.Truth(ok) || !is {
		return change.Failed(name, says[3]), nil
	}
	return change.New(name, true, data.NewMap("locale", name), says[2]), nil
}

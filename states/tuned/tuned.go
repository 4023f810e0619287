// Package tuned is Salt's state tuned: the profile of the daemon TuneD (salt/states/tuned.py). It uses
// the module tuned.
//
// Differences from Salt: a profile is compared by its whole name; tuned.off changes nothing if no
// profile is active, and fails if tuned-adm does.
package tuned

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state tuned.
func Plugin() loader.Plugin { return loader.Plugin{Name: "tuned", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("off", m.off),
		loader.F("profile", m.profile),
	}}, nil
}

func (m *module) active(ctx context.Context) (string, error) {
	return change.Ask[string](ctx, m.env, "tuned.active", nil, nil)
}

const right = "System already in the correct state"

type nameArgs struct{ Name string }

// profile keeps a profile active. As in Salt, the result has the name of the profile as a key.
//
//	virtual-guest:
//	  tuned.profile
func (m *module) profile(ctx context.Context, a nameArgs) (change.Result, error) {
	known, err := change.Ask[[]any](ctx, m.env, "tuned.list", nil, nil)
	if err != nil {
		return change.Result{}, err
	}
	if !slices.Contains(known, any(a.Name)) {
		return change.Result{}, loader.Invocation("Invalid Profile Name")
	}
	return m.keep(ctx, "", change.Texts{
		Same:   right,
		Done:   `The state of "` + a.Name + `" was changed!`,
		Failed: "Profile " + a.Name + " could not be activated",
	}, a.Name, "profile", []any{a.Name}, data.NewMap(a.Name, a.Name))
}

type offArgs struct {
	Name any `default:"None"`
}

// off keeps TuneD without a profile. name has no effect.
//
//	tuned:
//	  tuned.off
func (m *module) off(ctx context.Context, _ offArgs) (change.Result, error) {
	return m.keep(ctx, "off", change.Texts{Same: right, Done: "off", Failed: "TuneD could not be turned off"},
		"off", "off", nil, nil)
}

// keep makes a profile the active one. That of off is none.
func (m *module) keep(
	ctx context.Context, name string, texts change.Texts, wanted, fun string, args []any, more *data.Map,
) (change.Result, error) {
	is := func(now string) bool { return now == wanted || wanted == "off" && now == "none" }
	test := change.Test(ctx)
	return change.Thing[string]{
		Name: name,
		Look: m.active,
		Wants: func(now string) *data.Map {
			switch {
			case is(now):
				return nil
			case test:
				return change.OldNew(now, "Profile will be set to "+wanted)
			}
			return change.OldNew(now, wanted)
		},
		Apply: func(ctx context.Context, _ string) error {
			return change.Do(ctx, m.env, "tuned."+fun, args, nil)
		},
		Changed: func(before, after string) *data.Map {
			return change.When(before != after, change.OldNew(before, wanted))
		},
		Texts: texts,
		Say: func(o change.Outcome[string]) any {
			if o.Stage == change.StageWould {
				return `The state of "` + o.Before + `" will be changed.`
			}
			return nil
		},
		More: more,
	}.Ensure(ctx)
}

// Package group is Salt's state group: creates, changes and removes groups (salt/states/group.py).
// It uses the module group.
package group

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state group.
func Plugin() loader.Plugin { return loader.Plugin{Name: "group", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

// info returns the properties of a group, or an empty dictionary if it does not exist.
func (m *module) info(ctx context.Context, name string) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "group.info", []any{name}, nil)
}

type absentArgs struct{ Name string }

// absent removes a group.
//
//	cheese:
//	  group.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.info(ctx, a.Name) },
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Len() > 0, data.NewMap(a.Name, ""))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return change.Do(ctx, m.env, "group.delete", []any{a.Name}, nil)
		},
		Texts: change.Texts{
			Same:   "Group not present",
			Would:  "Group " + a.Name + " is set for removal",
			Done:   "Removed group " + a.Name,
			Failed: "Failed to remove group " + a.Name,
		},
		Silent: true,
	}.Ensure(ctx)
}

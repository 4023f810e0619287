// Package alias is Salt's state alias: aliases of the mail system (salt/states/alias.py). It uses
// the module aliases.
//
// The changes contain only the alias, as in Salt.
//
// Differences from Salt: a target that is a mapping, an empty list or null is rejected, whereas
// Salt writes its text, or an empty line, and reports success. After an alias is set or removed,
// the state reads it again.
package alias

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state alias.
func Plugin() loader.Plugin { return loader.Plugin{Name: "alias", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

type presentArgs struct {
	Name   any
	Target any
}

// present sets the target of an alias and replaces any other target.
//
// name
//
//	The local address.
//
// target
//
//	The address that receives its mail, or a list of addresses.
//
//	username:
//	  alias.present:
//	    - target: user@example.com
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	if _, mapping := a.Target.(*data.Map); mapping || a.Target == nil ||
		data.Equal(a.Target, []any{}) {
		return change.Refuse(a.Name, "The target must be an address or a list of addresses")
	}
	edge := data.Str(a.Name) + " -> " + data.Str(a.Target)
	args := []any{a.Name, a.Target}
	return m.keep(ctx, true, "aliases.has_target", "aliases.set_target", args, change.Texts{
		Same:   "Alias " + data.Str(a.Name) + " already present",
		Would:  "Alias " + edge + " is set to be added",
		Done:   "Set email alias " + edge,
		Failed: "Failed to set alias " + edge,
	})
}

type absentArgs struct{ Name any }

// absent removes an alias.
//
// name
//
//	The local address.
//
//	username:
//	  alias.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	name := data.Str(a.Name)
	return m.keep(ctx, false, "aliases.get_target", "aliases.rm_alias", []any{a.Name}, change.Texts{
		Same:   "Alias " + name + " already absent",
		Would:  "Alias " + name + " is set to be removed",
		Done:   "Removed alias " + name,
		Failed: "Failed to remove alias " + name,
	})
}

// keep brings an alias, the first of args, to the desired state. look returns wanted if there is
// nothing to do, and set changes the alias.
func (m *module) keep(
	ctx context.Context, wanted bool, look, set string, args []any, texts change.Texts,
) (change.Result, error) {
	return change.Thing[bool]{
		Name: args[0],
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, look, args, nil)
		},
		Wants: func(is bool) *data.Map {
			return change.When(is != wanted, data.NewMap("alias", args[0]))
		},
		Apply:  func(ctx context.Context, _ bool) error { return change.Do(ctx, m.env, set, args, nil) },
		Silent: true,
		Texts:  texts,
	}.Ensure(ctx)
}

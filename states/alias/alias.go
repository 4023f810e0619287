// Package alias is Salt's state alias: aliases of the mail system (salt/states/alias.py). The module aliases does the work.
//
// The changes name the alias alone, as in Salt.
//
// What differs from Salt: a target that is a mapping, an empty list or null is refused. Salt writes its text, or an empty line, and reports
// success.
package alias

import (
	"context"
	"fmt"

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

// present makes an alias have a target, which replaces the one that it had.
//
// name
//
//	The local address.
//
// target
//
//	The address that its mail goes to, or a list of addresses.
//
//	username:
//	  alias.present:
//	    - target: user@example.com
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	if _, mapping := a.Target.(*data.Map); mapping || a.Target == nil || data.Equal(a.Target, []any{}) {
		return change.Failed(a.Name, "The target must be an address or a list of addresses"), nil
	}
	return m.bring(ctx, a.Name, edit{
		look: "aliases.has_target", wanted: true,
		set: "aliases.set_target", args: []any{a.Name, a.Target},
		same:   fmt.Sprintf("Alias %s already present", data.Str(a.Name)),
		would:  fmt.Sprintf("Alias %s -> %s is set to be added", data.Str(a.Name), data.Str(a.Target)),
		done:   fmt.Sprintf("Set email alias %s -> %s", data.Str(a.Name), data.Str(a.Target)),
		failed: fmt.Sprintf("Failed to set alias %s -> %s", data.Str(a.Name), data.Str(a.Target)),
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
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	name := data.Str(a.Name)
	return m.bring(ctx, a.Name, edit{
		look: "aliases.get_target", wanted: false,
		set: "aliases.rm_alias", args: []any{a.Name},
		same:   "Alias " + name + " already absent",
		would:  "Alias " + name + " is set to be removed",
		done:   "Removed alias " + name,
		failed: "Failed to remove alias " + name,
	})
}

// An edit is what it takes to bring an alias to its wanted state: a function that looks, one that sets, and the comments.
type edit struct {
	look, set                 string
	wanted                    bool // what look answers where nothing is to do
	args                      []any
	same, would, done, failed string
}

func (m *module) bring(ctx context.Context, name any, e edit) (any, error) {
	is, err := m.env.Call(ctx, e.look, e.args, nil)
	switch {
	case err != nil:
		return nil, err
	case data.Truth(is) == e.wanted:
		return change.Done(name, e.same), nil
	case change.Test(ctx):
		return change.New(name, nil, nil, e.would), nil
	}
	set, err := m.env.Call(ctx, e.set, e.args, nil)
	if err != nil {
		return nil, err
	}
	if !data.Truth(set) {
		return change.Failed(name, e.failed), nil
	}
	return change.New(name, true, data.NewMap("alias", name), e.done), nil
}

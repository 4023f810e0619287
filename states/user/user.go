// Package user is Salt's state user: creates, changes and removes users (salt/states/user.py). It
// uses the modules user, group and shadow.
//
// present.go has the arguments, desired.go computes the differences, change.go changes an existing
// user and create.go creates one.
//
// Differences from Salt: changes always show what was read afterwards, even if the password is as
// desired, and include a created home directory. Hashes do not appear in comments. A password that
// is hashed by the state keeps its rounds and salt, so that a second run finds it unchanged. A
// locked password counts as the same. Days may be given as dates. Whatever a new user still lacks
// after it is created, such as its lock, is set in the same run. Windows-only arguments are
// ignored.
package user

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state user.
func Plugin() loader.Plugin { return loader.Plugin{Name: "user", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present).Secret("password"),
	}}, nil
}

// redacted replaces hashes in output.
const redacted = "XXX-REDACTED-XXX"

// call calls a function.
func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	return m.env.Call(ctx, fun, args, nil)
}

// dictionary calls a function that returns a dictionary.
func (m *module) dictionary(ctx context.Context, fun string, args ...any) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, m.env, fun, args, nil)
}

type absentArgs struct {
	Name  string
	Purge any `default:"False"`
	Force any `default:"False"`
}

// absent removes a user.
//
// purge
//
//	True: also remove the home directory and mail.
//
// force
//
//	True: even if the user is logged in.
//
//	fred:
//	  user.absent:
//	    - purge: True
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	gone := &data.Map{}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			now, err := m.dictionary(ctx, "user.info", a.Name)
			return now, change.Raise(err)
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Len() > 0, data.NewMap(a.Name, "removed"))
		},
		Apply: func(ctx context.Context, _ *data.Map) (err error) {
			gone, err = m.remove(ctx, a)
			return change.Raise(err)
		},
		Changed: func(_, left *data.Map) *data.Map { return change.When(left.Len() == 0, gone) },
		Texts: change.Texts{
			Same:   fmt.Sprintf("User %s is not present", a.Name),
			Would:  fmt.Sprintf("User %s set for removal", a.Name),
			Done:   fmt.Sprintf("Removed user %s", a.Name),
			Failed: fmt.Sprintf("Failed to remove user %s", a.Name),
		},
		Silent: true,
	}.Ensure(ctx)
}

// remove removes a user and returns the changes: the user, and the groups removed with it.
func (m *module) remove(ctx context.Context, a absentArgs) (*data.Map, error) {
	groups, err := loader.CallAs[[]string](ctx, m.env, "user.list_groups", []any{a.Name}, nil)
	if err == nil {
		_, err = m.call(ctx, "user.delete", a.Name, a.Purge, a.Force)
	}
	changes := &data.Map{}
	for _, g := range groups {
		if err != nil {
			break
		}
		var left *data.Map
		if left, err = m.dictionary(ctx, "group.info", g); err == nil && left.Len() == 0 {
			changes.Set(g+" group", "removed")
		}
	}
	changes.Set(a.Name, "removed")
	return changes, err
}

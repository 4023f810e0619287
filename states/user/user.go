// Package user is Salt's state user: users that are there as they are wanted, or not there (salt/states/user.py). The modules user,
// group and shadow do the work.
//
// present.go says what is wanted, wish.go what lacks, change.go changes a user that is there and create.go makes one.
//
// What differs from Salt: changes are always those that were read afterwards, also where the password is as wanted, and name a home
// directory that was made; hashes are in no comment; a password that is hashed here keeps its rounds and its salt, so that a second run
// finds it as wanted; one that is locked is still the same; days may be given as dates. What a new user still lacks once it is made, such
// as its lock, it gets in the same run. What is for Windows alone counts for nothing.
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

// redacted stands in the place of hashes.
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
//	True: its home directory and mail, too.
//
// force
//
//	True: even where it is logged in.
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

// remove removes a user and returns the changes: the groups that went with it, and the user.
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

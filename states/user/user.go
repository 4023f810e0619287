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
	v, err := m.call(ctx, fun, args...)
	found, _ := v.(*data.Map)
	return found, err
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
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	now, err := m.dictionary(ctx, "user.info", a.Name)
	switch {
	case err != nil:
		return nil, err
	case now.Len() == 0:
		return change.Done(a.Name, fmt.Sprintf("User %s is not present", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("User %s set for removal", a.Name)), nil
	}
	groups, err := m.call(ctx, "user.list_groups", a.Name)
	if err != nil {
		return nil, err
	}
	if _, err := m.call(ctx, "user.delete", a.Name, a.Purge, a.Force); err != nil {
		return nil, err
	}
	if left, err := m.dictionary(ctx, "user.info", a.Name); err != nil || left.Len() > 0 {
		return change.Failed(a.Name, fmt.Sprintf("Failed to remove user %s", a.Name)), err
	}
	changes, err := m.gone(ctx, groups)
	changes.Set(a.Name, "removed")
	return change.New(a.Name, true, changes, fmt.Sprintf("Removed user %s", a.Name)), err
}

// gone returns, as changes, the groups that went with their user.
func (m *module) gone(ctx context.Context, groups any) (*data.Map, error) {
	changes := &data.Map{}
	list, _ := groups.([]any)
	for _, g := range list {
		left, err := m.dictionary(ctx, "group.info", g)
		if err != nil {
			return changes, err
		}
		if left.Len() == 0 {
			changes.Set(data.Str(g)+" group", "removed")
		}
	}
	return changes, nil
}

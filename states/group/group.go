// Package group is Salt's state group: groups that are there as they are wanted, or not there (salt/states/group.py). The module group
// does the work.
package group

import (
	"context"
	"fmt"

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

// info returns what there is to tell of a group, an empty dictionary where there is none.
func (m *module) info(ctx context.Context, name string) (*data.Map, error) {
	v, err := m.env.Call(ctx, "group.info", []any{name}, nil)
	group, _ := v.(*data.Map)
	return group, err
}

type absentArgs struct{ Name string }

// absent removes a group.
//
//	cheese:
//	  group.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	now, err := m.info(ctx, a.Name)
	switch {
	case err != nil:
		return nil, err
	case now.Len() == 0:
		return change.Done(a.Name, "Group not present"), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("Group %s is set for removal", a.Name)), nil
	}
	if _, err := m.env.Call(ctx, "group.delete", []any{a.Name}, nil); err != nil {
		return nil, err
	}
	if left, err := m.info(ctx, a.Name); err != nil || left.Len() > 0 {
		return change.Failed(a.Name, fmt.Sprintf("Failed to remove group %s", a.Name)), err
	}
	return change.New(a.Name, true, data.NewMap(a.Name, ""), fmt.Sprintf("Removed group %s", a.Name)), nil
}

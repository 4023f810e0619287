package defaults

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type mergeArgs struct {
	Dest        any
	Src         any
	MergeLists  bool `default:"False"`
	InPlace     bool `default:"True"`
	ConvertNone bool `default:"True"`
}

// merge merges the dictionary src into the dictionary dest, at all depths, and returns dest. In a
// template dest itself changes.
//
// merge_lists : False
//
//	Append new elements to lists instead of replacing the lists.
//
// in_place : True
//
//	False: change a copy and leave dest unchanged.
//
// convert_none : True
//
//	Treat None as an empty dictionary; for dest only if in_place is False.
//
// CLI Example:
//
//	salt '*' defaults.merge '{a: b}' '{d: e}'
func (m *module) merge(_ context.Context, a mergeArgs) (any, error) {
	if a.Dest == nil && a.ConvertNone && a.InPlace {
		return nil, loader.TypeError("Can't perform in-place merge into NoneType")
	}
	dest, src := a.Dest, a.Src
	if a.ConvertNone {
		dest, src = orEmpty(dest), orEmpty(src)
	}
	if !a.InPlace {
		dest = data.Clone(dest)
	}
	return merged(dest, src, a.MergeLists)
}

func orEmpty(v any) any {
	if v == nil {
		return data.NewMap()
	}
	return v
}

// merged merges src into dest, which must be dictionaries.
func merged(dest, src any, lists bool) (any, error) {
	into, ok := dest.(*data.Map)
	from, both := src.(*data.Map)
	if !ok || !both {
		return nil, loader.TypeError("Cannot update using non-dict types in dictupdate.update()")
	}
	data.Merge(into, from, lists)
	return into, nil
}

type updateArgs struct {
	Dest        any
	Defaults    any
	MergeLists  bool `default:"True"`
	InPlace     bool `default:"True"`
	ConvertNone bool `default:"True"`
}

// update adds the missing values of defaults to each dictionary in the dictionary dest, at all
// depths, and returns dest. In a template dest itself changes.
//
// merge_lists : True
//
//	Insert the elements of a list in defaults before those of dest. False: keep only the list in
//	dest.
//
// in_place : True
//
//	False: change a copy and leave dest unchanged.
//
// convert_none : True
//
//	Treat None as an empty dictionary; for dest only if in_place is False.
//
// CLI Example:
//
//	salt '*' defaults.update '{host01: {index: foo}}' '{enabled: true}'
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	if a.Dest == nil && a.InPlace {
		return nil, loader.TypeError("Can't perform in-place update into NoneType")
	}
	dest, values := a.Dest, a.Defaults
	if a.ConvertNone {
		dest, values = orEmpty(dest), orEmpty(values)
	}
	if !a.InPlace {
		dest = data.Clone(dest)
	}
	nodes, ok := dest.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'",
			loader.TypeName(dest))
	}
	for k, node := range nodes.All() {
		v, err := m.merge(ctx, mergeArgs{data.Clone(values), node, a.MergeLists, true,
			a.ConvertNone})
		if err != nil {
			return nil, err
		}
		nodes.Set(k, v)
	}
	return nodes, nil
}

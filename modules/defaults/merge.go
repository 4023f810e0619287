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

// merge sets in the dictionary dest what src has, at all depths, and returns it. In a template dest itself changes.
//
// merge_lists : False
//
//	Add to lists what is new, and do not replace them.
//
// in_place : True
//
//	With False dest stays as it is, and a copy of it changes.
//
// convert_none : True
//
//	Take None for an empty dictionary; dest only where in_place is False.
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

// update gives each dictionary in the dictionary dest the values of defaults that it does not have, at all depths, and returns dest.
// In a template dest itself changes.
//
// merge_lists : True
//
//	Put the elements of a list in defaults before those of dest. With False the list in dest stands alone.
//
// in_place : True
//
//	With False dest stays as it is, and a copy of it changes.
//
// convert_none : True
//
//	Take None for an empty dictionary; dest only where in_place is False.
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
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'", loader.TypeName(dest))
	}
	for k, node := range nodes.All() {
		v, err := m.merge(ctx, mergeArgs{data.Clone(values), node, a.MergeLists, true, a.ConvertNone})
		if err != nil {
			return nil, err
		}
		nodes.Set(k, v)
	}
	return nodes, nil
}

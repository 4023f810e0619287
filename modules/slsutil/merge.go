package slsutil

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type updateArgs struct {
	Dest            any
	Upd             any
	RecursiveUpdate bool `default:"True"`
	MergeLists      bool `default:"False"`
}

// update merges the dictionary upd into dest, at all depths, and returns dest. In a template dest
// itself changes.
//
// recursive_update : True
//
//	False: a dictionary in upd replaces one in dest.
//
// merge_lists : False
//
//	Append new elements to lists instead of replacing the lists.
//
// CLI Example:
//
//	salt '*' slsutil.update '{foo: Foo}' '{bar: Bar}'
func (m *module) update(_ context.Context, a updateArgs) (any, error) {
	dest, upd, err := twoMaps(a.Dest, a.Upd)
	switch {
	case err != nil:
		return nil, err
	case a.RecursiveUpdate:
		data.Merge(dest, upd, a.MergeLists)
	default:
		dest.Update(upd)
	}
	return dest, nil
}

func twoMaps(a, b any) (*data.Map, *data.Map, error) {
	dest, ok := a.(*data.Map)
	upd, both := b.(*data.Map)
	if !ok || !both {
		return nil, nil, loader.TypeError("Cannot update using non-dict types in dictupdate.update()")
	}
	return dest, upd, nil
}

type mergeArgs struct {
	ObjA       any
	ObjB       any
	Strategy   any    `default:"'smart'"`
	Renderer   string `default:"'yaml'"`
	MergeLists bool   `default:"False"`
}

// merge returns the dictionary obj_a with obj_b merged into it.
//
// strategy : smart
//
//	One of aggregate, list, overwrite and recurse, as in the option
//	pillar_source_merging_strategy. smart is recurse, or aggregate with the renderer yamlex.
//
// merge_lists : False
//
//	Append new elements to lists instead of replacing the lists.
//
// CLI Example:
//
//	salt '*' slsutil.merge '{foo: Foo}' '{bar: Bar}'
func (m *module) merge(_ context.Context, a mergeArgs) (any, error) { return m.merged(a) }

func (m *module) merged(a mergeArgs) (any, error) {
	switch strategy := strategyOf(a); strategy {
	case "list":
		return mergeList(a.ObjA, a.ObjB)
	case "aggregate":
		return aggregate(a.ObjA, a.ObjB), nil
	case "overwrite":
		return overwrite(a)
	case "recurse":
		return recurse(a.ObjA, a.ObjB, a.MergeLists)
	case "none":
		return recurse(a.ObjA, a.ObjB, false)
	default:
		m.env.Log.Warnf("Unknown merging strategy '%s', fallback to recurse", strategy)
		return recurse(a.ObjA, a.ObjB, false)
	}
}

func strategyOf(a mergeArgs) string {
	name := data.Str(a.Strategy)
	switch {
	case name != "smart":
		return name
	case a.Renderer[strings.LastIndexByte(a.Renderer, '|')+1:] == "yamlex",
		strings.HasPrefix(a.Renderer, "yamlex_"):
		return "aggregate"
	}
	return "recurse"
}

func recurse(a, b any, lists bool) (any, error) {
	dest, upd, err := twoMaps(data.Clone(a), b)
	if err != nil {
		return nil, err
	}
	data.Merge(dest, upd, lists)
	return dest, nil
}

// overwrite replaces values of a by those of b. As in Salt, it also sets the values of shared keys
// in a itself.
func overwrite(a mergeArgs) (any, error) {
	if _, err := loader.Elements(a.ObjB); err != nil {
		return nil, err
	}
	dest, upd, err := twoMaps(a.ObjA, a.ObjB)
	if err != nil {
		return nil, err
	}
	for k, v := range upd.All() {
		if dest.Has(k) {
			dest.Set(k, v)
		}
	}
	return recurse(dest, upd, a.MergeLists)
}

// mergeList keeps the keys of a. A key that is in both gets a list of the two values.
func mergeList(a, b any) (any, error) {
	below, ok := a.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'",
			loader.TypeName(a))
	}
	over, ok := b.(*data.Map)
	if !ok && below.Len() > 0 {
		return nil, loader.TypeError("argument of type '%s' is not iterable", loader.TypeName(b))
	}
	out := data.NewMap()
	for k, v := range below.All() {
		if other, both := over.Get(k); both {
			v = []any{v, other}
		}
		out.Set(k, v)
	}
	return out, nil
}

// aggregate merges the top level of two values. Dictionaries are merged key by key, with whole
// values from b; anything else becomes a list (salt/utils/aggregation.py, with level 1).
func aggregate(a, b any) any {
	below, isMap := a.(*data.Map)
	over, areMaps := b.(*data.Map)
	switch {
	case isMap && areMaps:
		out := below.Clone()
		out.Update(over)
		return out
	case isMap || areMaps:
		if areMaps {
			return b
		}
		return asList(b)
	}
	out := slices.Clone(asList(a))
	for _, v := range asList(b) {
		if !slices.ContainsFunc(asList(a), func(x any) bool { return data.Equal(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// asList returns a list unchanged, and another value as a list of one.
func asList(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return []any{v}
}

type mergeAllArgs struct {
	Lst        any
	Strategy   any    `default:"'smart'"`
	Renderer   string `default:"'yaml'"`
	MergeLists bool   `default:"False"`
}

// mergeAll merges the dictionaries of a list, each over those before it, and returns the result.
// The other arguments are those of slsutil.merge.
//
// CLI Example:
//
//	salt-call --output=txt slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
func (m *module) mergeAll(_ context.Context, a mergeAllArgs) (any, error) {
	list, err := loader.Elements(a.Lst)
	if err != nil {
		return nil, err
	}
	var all any = data.NewMap()
	for _, v := range list {
		all, err = m.merged(mergeArgs{ObjA: all, ObjB: v, Strategy: a.Strategy,
			Renderer: a.Renderer, MergeLists: a.MergeLists})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

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

// update sets in the dictionary dest what upd has, at all depths, and returns it. In a template dest itself changes.
//
// recursive_update : True
//
//	With False a dictionary in upd takes the place of one in dest.
//
// merge_lists : False
//
//	Add to lists what is new, and do not replace them.
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
//	aggregate, list, overwrite or recurse, as pillar_source_merging_strategy has them; smart is recurse, or aggregate with the
//	renderer yamlex.
//
// merge_lists : False
//
//	Add to lists what is new, and do not replace them.
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
	case a.Renderer[strings.LastIndexByte(a.Renderer, '|')+1:] == "yamlex", strings.HasPrefix(a.Renderer, "yamlex_"):
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

// overwrite takes values of b whole; as in Salt those of keys that a has are put into a itself, too.
func overwrite(a mergeArgs) (any, error) {
	if _, err := elements(a.ObjB); err != nil {
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

// mergeList keeps the keys of a alone, those of both with a list of the two values.
func mergeList(a, b any) (any, error) {
	below, ok := a.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'items'", loader.TypeName(a))
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

// aggregate joins the top of two values: dictionaries key by key, where values of b are taken whole, all else as lists
// (salt/utils/aggregation.py, with level 1).
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
		return listed(b)
	}
	out := slices.Clone(listed(a))
	for _, v := range listed(b) {
		if !slices.ContainsFunc(listed(a), func(x any) bool { return data.Equal(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}

// listed returns a list, a value that is none as one of itself alone.
func listed(v any) []any {
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

// mergeAll merges the dictionaries of a list, each into those before it, and returns the result. The other arguments are those of
// slsutil.merge.
//
// CLI Example:
//
//	salt-call --output=txt slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
func (m *module) mergeAll(_ context.Context, a mergeAllArgs) (any, error) {
	list, err := elements(a.Lst)
	if err != nil {
		return nil, err
	}
	var all any = data.NewMap()
	for _, v := range list {
		all, err = m.merged(mergeArgs{ObjA: all, ObjB: v, Strategy: a.Strategy, Renderer: a.Renderer, MergeLists: a.MergeLists})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// elements returns what a loop of Python goes through.
func elements(v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case data.Tuple:
		return v, nil
	case *data.Map:
		return v.Keys(), nil
	case string:
		var out []any
		for _, r := range v {
			out = append(out, string(r))
		}
		return out, nil
	}
	return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
}

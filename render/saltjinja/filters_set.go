package saltjinja

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// setFilters returns the filters for sets (salt/utils/jinja.py). Values that Python can hash, such
// as text and tuples, give a set.
func setFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"unique": one("unique", unique), "union": union, "intersect": intersect,
		"difference":           difference,
		"symmetric_difference": symmetricDifference,
	}
}

func unique(c *jinja.Call, v any) (any, error) {
	items, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	if jinja.Hashable(v) {
		return jinja.NewSet(items...)
	}
	return uniqueList(c, items)
}

func uniqueList(c *jinja.Call, items []any) (any, error) {
	known := data.NewMap()
	var out, oddShare []any
	for _, item := range items {
		if jinja.Hashable(item) && data.Plain(item) {
			if !known.Has(item) {
				known.Set(item, nil)
				out = append(out, item)
			}
			continue
		}
		there, err := among(c, oddShare, item)
		if err != nil {
			return nil, err
		}
		if !there {
			oddShare, out = append(oddShare, item), append(out, item)
		}
	}
	return jinja.NewList(out...), nil
}

// two reads the two lists of a filter, and whether the result is a set.
func two(c *jinja.Call, name string) (a, b []any, asSet bool, err error) {
	p := bind(c, name, "lst1", "lst2")
	a, b = p.items(0), p.items(1)
	if p.err != nil {
		return nil, nil, false, p.err
	}
	return a, b, jinja.Hashable(p.args[0]) && jinja.Hashable(p.args[1]), nil
}

func result(c *jinja.Call, items []any, asSet bool) (any, error) {
	if asSet {
		return jinja.NewSet(items...)
	}
	return uniqueList(c, items)
}

func union(c *jinja.Call) (any, error) {
	a, b, asSet, err := two(c, "union")
	if err != nil {
		return nil, err
	}
	return result(c, append(append([]any{}, a...), b...), asSet)
}

func intersect(c *jinja.Call) (any, error) {
	a, b, asSet, err := two(c, "intersect")
	if err != nil {
		return nil, err
	}
	only, err := without(c, a, b)
	if err != nil {
		return nil, err
	}
	both, err := without(c, a, only)
	if err != nil {
		return nil, err
	}
	return result(c, both, asSet)
}

func difference(c *jinja.Call) (any, error) {
	a, b, asSet, err := two(c, "difference")
	if err != nil {
		return nil, err
	}
	only, err := without(c, a, b)
	if err != nil {
		return nil, err
	}
	return result(c, only, asSet)
}

func symmetricDifference(c *jinja.Call) (any, error) {
	a, b, asSet, err := two(c, "symmetric_difference")
	if err != nil {
		return nil, err
	}
	left, err := without(c, a, b)
	if err != nil {
		return nil, err
	}
	right, err := without(c, b, a)
	if err != nil {
		return nil, err
	}
	return result(c, append(left, right...), asSet)
}

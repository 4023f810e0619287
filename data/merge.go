package data

import "slices"

// Merge sets in dst what src has; maps that both have are merged, at all depths. With lists true, lists that both have are
// joined: behind the elements of dst's those of src's that are not among them. dst is changed and then shares values with
// src, which is not; lists are never changed, but replaced (salt/utils/dictupdate.py, update).
func Merge(dst, src *Map, lists bool) {
	for k, v := range src.All() {
		dst.Set(k, mergeValue(dst.Value(k), v, lists))
	}
}

func mergeValue(below, over any, lists bool) any {
	switch over := over.(type) {
	case *Map:
		if m, ok := below.(*Map); ok && m != nil && over != nil {
			Merge(m, over, lists)
			return m
		}
	case []any:
		if list, ok := below.([]any); ok && lists {
			return joinLists(list, over)
		}
	}
	return over
}

func joinLists(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.ContainsFunc(a, func(x any) bool { return Equal(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}

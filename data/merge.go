package data

import "slices"

// Merge sets the pairs of src in dst. Maps that both have are merged, at all depths. If lists is
// true, lists that both have are joined: the elements of src's list that dst's does not contain are
// appended. dst is changed and then shares values with src. src is not changed; lists are replaced,
// never changed (salt/utils/dictupdate.py, update).
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

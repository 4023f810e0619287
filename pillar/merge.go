package pillar

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// strategyOf resolves the strategy smart: aggregate if the option renderer ends in yamlex, else
// recurse.
func strategyOf(strategy, renderer string) string {
	if strategy != "smart" {
		return strategy
	}
	if renderer[strings.LastIndexByte(renderer, '|')+1:] == "yamlex" ||
		strings.HasPrefix(renderer, "yamlex_") {
		return "aggregate"
	}
	return "recurse"
}

// Merge returns a with b merged over it, by the options pillar_source_merging_strategy and
// pillar_merge_lists, for use where the renderer does not matter. Neither is changed; the result
// shares their values.
func Merge(opts, a, b *data.Map) *data.Map {
	strategy := firstText(opts.Text("pillar_source_merging_strategy"), "smart")
	return merge(a, b, strategyOf(strategy, "yaml"), data.Truth(opts.Value("pillar_merge_lists")))
}

// MergeAs is Merge with an explicit strategy and rule for lists.
func MergeAs(strategy string, lists bool, a, b *data.Map) *data.Map {
	return merge(a, b, strategyOf(strategy, "yaml"), lists)
}

// merge returns a with b merged over it by a value of pillar_source_merging_strategy
// (salt/utils/dictupdate.py, merge). Neither is changed; the result shares their values. An unknown
// strategy means recurse without merging of lists.
func merge(a, b *data.Map, strategy string, lists bool) *data.Map {
	switch strategy {
	case "list":
		return mergeList(a, b)
	case "aggregate":
		return mergeAggregate(a, b)
	case "overwrite":
		return mergeOverwrite(a, b)
	case "recurse":
		return mergeRecurse(a, b, lists)
	}
	return mergeRecurse(a, b, false)
}

// mergeList keeps the keys of a only; keys in both become a list of the two values.
func mergeList(a, b *data.Map) *data.Map {
	out := data.NewMap()
	for k, v := range a.All() {
		if other, both := b.Get(k); both {
			v = []any{v, other}
		}
		out.Set(k, v)
	}
	return out
}

// mergeAggregate replaces values by those of b. Values that yamlex marks with !aggregate in both
// are joined.
func mergeAggregate(a, b *data.Map) *data.Map {
	out := a.Clone()
	for k, v := range b.All() {
		if below, both := a.Get(k); both {
			v = yaml.Join(below, v)
		}
		out.Set(k, v)
	}
	return out
}

// mergeOverwrite replaces values by those of b. Salt also merges lists in them with themselves,
// which changes nothing.
func mergeOverwrite(a, b *data.Map) *data.Map {
	out := a.Clone()
	out.Update(b)
	return out
}

func mergeRecurse(a, b *data.Map, lists bool) *data.Map {
	out := a.Clone()
	for k, v := range b.All() {
		out.Set(k, mergeValue(out.Value(k), v, lists))
	}
	return out
}

func mergeValue(a, b any, lists bool) any {
	if below, ok := a.(*data.Map); ok {
		if over, ok := b.(*data.Map); ok {
			return mergeRecurse(below, over, lists)
		}
		return b
	}
	below, isList := a.([]any)
	over, areLists := b.([]any)
	if !lists || !isList || !areLists {
		return b
	}
	return joinLists(below, over)
}

// joinLists appends to a the elements of b that it lacks.
func joinLists(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.ContainsFunc(a, func(x any) bool { return data.Equal(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}

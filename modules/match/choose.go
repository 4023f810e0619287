package match

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// matchesKind reports whether a target of a kind matches the minion, or another ID if the kind
// accepts one.
func (m *module) matchesKind(ctx context.Context, kind string, tgt, id any) (bool, error) {
	switch kind {
	case "compound", "list", "pcre", "glob":
		return m.matches(ctx, question{tgt: tgt, kind: kind, id: id}), nil
	case "ipcidr", "pillar", "pillar_pcre", "grain", "grain_pcre":
		return m.matches(ctx, question{tgt: tgt, kind: kind}), nil
	case "data":
		v, err := m.data(ctx, targetArgs{tgt})
		return v == true, err
	}
	return false, loader.Exception("KeyError", "%s", data.Repr(kind))
}

type filterByArgs struct {
	Lookup     *data.Map
	TgtType    string `default:"'compound'"`
	MinionID   any    `default:"None"`
	Merge      any    `default:"None"`
	MergeLists bool   `default:"False"`
	Default    any    `default:"'default'"`
}

// filterBy returns the value of the first target in a dictionary that matches the minion.
//
// tgt_type : compound
//
//	The kind of the targets: one of the other functions of this module.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// merge
//
//	A dictionary to merge into the value.
//
// merge_lists : False
//
//	Join lists that are in both. Otherwise the list in merge replaces the other.
//
// default : default
//
//	The key whose value is returned if no target matches.
//
// CLI Example:
//
//	salt '*' match.filter_by '{foo*: Foo!, bar*: Bar!}' minion_id=bar03
func (m *module) filterBy(ctx context.Context, a filterByArgs) (any, error) {
	for key, v := range a.Lookup.All() {
		matches, err := m.matchesKind(ctx, a.TgtType, key, a.MinionID)
		if err != nil {
			return nil, err
		}
		if matches {
			return withMerge(v, a.Merge, a.MergeLists)
		}
	}
	if !data.Hashable(a.Default) {
		return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Default))
	}
	return a.Lookup.Value(a.Default), nil
}

func withMerge(v, merge any, lists bool) (any, error) {
	if !data.Truth(merge) {
		return v, nil
	}
	more, ok := merge.(*data.Map)
	if !ok {
		return nil, loader.Exception("salt.exceptions.SaltException",
			"filter_by merge argument must be a dictionary.")
	}
	if v == nil {
		return more, nil
	}
	into, ok := v.(*data.Map)
	if !ok {
		return nil, loader.TypeError("Cannot update using non-dict types in dictupdate.update()")
	}
	return merged(into, more, lists), nil
}

// merged returns a dictionary with another merged over it, at all depths (salt/utils/dictupdate.py,
// update).
func merged(into, from *data.Map, lists bool) *data.Map {
	all := into.Clone()
	for k, v := range from.All() {
		old, _ := all.Get(k)
		switch v := v.(type) {
		case *data.Map:
			sub, ok := old.(*data.Map)
			if !ok {
				sub = data.NewMap()
			}
			all.Set(k, merged(sub, v, lists))
			continue
		case []any:
			if list, ok := old.([]any); ok && lists {
				all.Set(k, joined(list, v))
				continue
			}
		}
		all.Set(k, v)
	}
	return all
}

// joined returns a list extended by the elements of another that are missing in it.
func joined(list, more []any) []any {
	all := append([]any{}, list...)
	for _, e := range more {
		if !holds(all, e) {
			all = append(all, e)
		}
	}
	return all
}

func holds(list []any, v any) bool {
	for _, e := range list {
		if data.Equal(e, v) {
			return true
		}
	}
	return false
}

type searchByArgs struct {
	Lookup   *data.Map
	TgtType  string `default:"'compound'"`
	MinionID any    `default:"None"`
}

// searchBy returns the keys of a dictionary whose lists contain a target that matches the minion,
// or None if there are none. A key is repeated for each of its matching targets.
//
// tgt_type : compound
//
//	The kind of the targets: one of the other functions of this module.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// CLI Example:
//
//	salt '*' match.search_by '{web: [node1, node2], db: [node2, node]}'
func (m *module) searchBy(ctx context.Context, a searchByArgs) (any, error) {
	var found []any
	for key, targets := range a.Lookup.All() {
		list, err := loader.Elements(targets)
		if err != nil {
			return nil, err
		}
		for _, tgt := range list {
			matches, err := m.matchesKind(ctx, a.TgtType, tgt, a.MinionID)
			if err != nil {
				return nil, err
			}
			if matches {
				found = append(found, key)
			}
		}
	}
	if found == nil {
		return nil, nil
	}
	return found, nil
}

type ifelseArgs struct {
	Args []any     `args:"args"`
	More *data.Map `only:"tgt_type,minion_id,merge,merge_lists"`
}

// ifelse uses these keys for the last argument, and for a condition that is False.
const (
	otherwise    = "SALT_IFELSE_FUNCTION_DEFAULT"
	matchNothing = "SALT_IFELSE_MATCH_NOTHING"
)

// ifelse takes pairs of a target and a value, and returns the value of the first target that
// matches the minion. If none does it returns the last argument, which has no target. A target may
// be True or False. Templates may pass tgt_type, minion_id, merge and merge_lists as in
// match.filter_by.
//
// CLI Example:
//
//	salt '*' match.ifelse 'foo*' 'Foo!' 'bar*' 'Bar!' 'none of them'
func (m *module) ifelse(ctx context.Context, a ifelseArgs) (any, error) {
	n := len(a.Args)
	switch {
	case n%2 == 0:
		return nil, loader.Exception("salt.exceptions.SaltException",
			"The ifelse function must have an odd number of arguments!")
	case n == 1:
		return a.Args[0], nil
	}
	lookup := data.NewMap()
	for i := 0; i+1 < n; i += 2 {
		key := a.Args[i]
		switch key {
		case true:
			key = "*"
		case false:
			key = matchNothing
		}
		if !data.Hashable(key) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
		}
		lookup.Set(key, a.Args[i+1])
	}
	lookup.Set(otherwise, a.Args[n-1])
	f := filterByArgs{Lookup: lookup, TgtType: "compound", MinionID: a.More.Value("minion_id"),
		Merge: a.More.Value("merge"), MergeLists: data.Truth(a.More.Value("merge_lists")),
		Default: otherwise}
	if a.More.Has("tgt_type") {
		f.TgtType = data.Str(a.More.Value("tgt_type"))
	}
	return m.filterBy(ctx, f)
}

package match

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ask answers whether a target of a kind names the minion, or another one where the kind takes an id.
func (m *module) ask(ctx context.Context, kind string, tgt, id any) (bool, error) {
	switch kind {
	case "compound", "list", "pcre", "glob":
		return m.named(question{tgt: tgt, kind: kind, id: id}), nil
	case "ipcidr", "pillar", "pillar_pcre", "grain", "grain_pcre":
		return m.named(question{tgt: tgt, kind: kind}), nil
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

// filterBy returns the value of the first target in a dictionary that names the minion.
//
// tgt_type : compound
//
//	The kind of the targets: one of the other functions of this module.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// merge
//
//	A dictionary that is merged into the value.
//
// merge_lists : False
//
//	Join lists that stand in both, where else that of merge counts.
//
// default : default
//
//	The key whose value is returned when no target names the minion.
//
// CLI Example:
//
//	salt '*' match.filter_by '{foo*: Foo!, bar*: Bar!}' minion_id=bar03
func (m *module) filterBy(ctx context.Context, a filterByArgs) (any, error) {
	for key, v := range a.Lookup.All() {
		named, err := m.ask(ctx, a.TgtType, key, a.MinionID)
		if err != nil {
			return nil, err
		}
		if named {
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
		return nil, loader.Exception("salt.exceptions.SaltException", "filter_by merge argument must be a dictionary.")
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

// merged returns a dictionary with what another sets, at all depths (salt/utils/dictupdate.py, update).
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

// joined returns a list with the elements of another that it lacks.
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

// searchBy returns the keys of a dictionary whose lists hold a target that names the minion; nothing when there is none. A key comes
// once for each of its targets that does.
//
// tgt_type : compound
//
//	The kind of the targets: one of the other functions of this module.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// CLI Example:
//
//	salt '*' match.search_by '{web: [node1, node2], db: [node2, node]}'
func (m *module) searchBy(ctx context.Context, a searchByArgs) (any, error) {
	var found []any
	for key, targets := range a.Lookup.All() {
		list, err := elements(targets)
		if err != nil {
			return nil, err
		}
		for _, tgt := range list {
			named, err := m.ask(ctx, a.TgtType, tgt, a.MinionID)
			if err != nil {
				return nil, err
			}
			if named {
				found = append(found, key)
			}
		}
	}
	if found == nil {
		return nil, nil
	}
	return found, nil
}

// elements returns what Python's for goes through: of a text its letters.
func elements(v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case data.Tuple:
		return v, nil
	case *data.Map:
		return v.Keys(), nil
	case string:
		var all []any
		for _, r := range v {
			all = append(all, string(r))
		}
		return all, nil
	}
	return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
}

type ifelseArgs struct {
	Args []any     `args:"args"`
	More *data.Map `only:"tgt_type,minion_id,merge,merge_lists"`
}

// Keys that ifelse gives what stands at the end, and a condition that is False.
const (
	otherwise = "SALT_IFELSE_FUNCTION_DEFAULT"
	nobody    = "SALT_IFELSE_MATCH_NOTHING"
)

// ifelse goes through pairs of a target and a value, and returns the value of the first target that names the minion; the last
// argument, which stands alone, when none does. A target may be True or False. Templates may give tgt_type, minion_id, merge and
// merge_lists as for match.filter_by.
//
// CLI Example:
//
//	salt '*' match.ifelse 'foo*' 'Foo!' 'bar*' 'Bar!' 'none of them'
func (m *module) ifelse(ctx context.Context, a ifelseArgs) (any, error) {
	n := len(a.Args)
	switch {
	case n%2 == 0:
		return nil, loader.Exception("salt.exceptions.SaltException", "The ifelse function must have an odd number of arguments!")
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
			key = nobody
		}
		if !data.Hashable(key) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
		}
		lookup.Set(key, a.Args[i+1])
	}
	lookup.Set(otherwise, a.Args[n-1])
	f := filterByArgs{Lookup: lookup, TgtType: "compound", MinionID: a.More.Value("minion_id"), Merge: a.More.Value("merge"),
		MergeLists: data.Truth(a.More.Value("merge_lists")), Default: otherwise}
	if a.More.Has("tgt_type") {
		f.TgtType = data.Str(a.More.Value("tgt_type"))
	}
	return m.filterBy(ctx, f)
}

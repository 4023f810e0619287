package grains

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

type filterArgs struct {
	LookupDict any
	Grain      string `default:"'os_family'"`
	Merge      any    `default:"None"`
	Default    any    `default:"'default'"`
	Base       any    `default:"None"`
}

// filterBy returns the entry of a dictionary whose key, a glob, matches a grain. Templates use it for what differs by system.
//
// lookup_dict
//
//	The dictionary. Its keys are globs for the grain.
//
// grain
//
//	The grain to look at. Default: os_family. Of a list, the first element that a key matches counts.
//
// merge
//
//	A dictionary that is merged over the result.
//
// default
//
//	The key of the entry to take when none matches.
//
// base
//
//	The key of an entry over which the chosen one is merged.
//
// CLI Example:
//
//	salt '*' grains.filter_by '{Debian: Debheads rule, RedHat: I love my hat}'
//	salt '*' grains.filter_by '{A: B, C: {D: {E: F, G: H}}}' 'xxx' '{D: {E: I}, J: K}' 'C'
func (m *module) filterBy(_ context.Context, a filterArgs) (any, error) {
	table, ok := a.LookupDict.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'get'", loader.TypeName(a.LookupDict))
	}
	found := data.Clone(choose(table, m.grains(), a.Grain))
	if found == nil {
		if !data.Hashable(a.Default) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Default))
		}
		found = data.Clone(table.Value(a.Default))
	}
	found, err := overBase(table, a.Base, found)
	if err != nil || !data.Truth(a.Merge) {
		return found, err
	}
	over, ok := a.Merge.(*data.Map)
	if !ok {
		return nil, saltException("filter_by merge argument must be a dictionary.")
	}
	if found == nil {
		return over, nil
	}
	into, ok := found.(*data.Map)
	if !ok {
		return nil, loader.TypeError("Cannot update using non-dict types in dictupdate.update()")
	}
	mergeMaps(into, over)
	return into, nil
}

// choose returns the first entry that is not None and whose key matches the grain.
func choose(table, grains *data.Map, grain string) any {
	v, ok := data.Lookup(grains, grain, delimiter)
	if !ok {
		return nil
	}
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	for _, value := range values {
		for pattern, entry := range table.All() {
			if match.CompileGlob(data.Str(pattern)).Match(data.Str(value)) {
				if entry != nil {
					return entry
				}
				break
			}
		}
	}
	return nil
}

// overBase merges found over the entry base.
func overBase(table *data.Map, base, found any) (any, error) {
	if !data.Truth(base) || !data.Hashable(base) || !table.Has(base) {
		return found, nil
	}
	entry := data.Clone(table.Value(base))
	if found == nil {
		return entry, nil
	}
	into, ok := entry.(*data.Map)
	if !ok {
		return found, nil
	}
	over, ok := found.(*data.Map)
	if !ok {
		return nil, saltException("filter_by default and look-up values must both be dictionaries.")
	}
	mergeMaps(into, over)
	return into, nil
}

// mergeMaps puts from into m; maps that both have are merged (salt/utils/dictupdate.py, update).
func mergeMaps(m, from *data.Map) {
	for k, v := range from.All() {
		old, isMap := m.Value(k).(*data.Map)
		sub, alsoMap := v.(*data.Map)
		if isMap && alsoMap {
			mergeMaps(old, sub)
			continue
		}
		m.Set(k, data.Clone(v))
	}
}

func saltException(text string) error {
	return loader.Exception("salt.exceptions.SaltException", "%s", text)
}

package facts

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// A Filter selects an entry of a dictionary by a value of the grains or pillar.
type Filter struct {
	Table any       // dictionary whose keys are globs for the value
	Of    *data.Map // grains or pillar
	// key of the value, as for Lookup with colons; for a list, its first element that matches
	// counts
	Key     any
	Merge   any // dictionary merged over the result; an empty one has no effect
	Default any // key of the entry used if none matches
	Base    any // key of an entry over which the selected one is merged
}

// Choose returns the selected entry, which the caller may modify, or nil if there is none. Errors
// are Salt's.
func (f Filter) Choose() (any, error) {
	table, ok := f.Table.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'get'",
			loader.TypeName(f.Table))
	}
	found, err := choose(table, f.Of, f.Key)
	if err != nil {
		return nil, err
	}
	if found = data.DeepCopy(found); found == nil {
		if !data.Hashable(f.Default) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(f.Default))
		}
		found = data.DeepCopy(table.Value(f.Default))
	}
	found, err = overBase(table, f.Base, found)
	if err != nil || !data.Truth(f.Merge) {
		return found, err
	}
	return under(found, f.Merge)
}

// under returns found with merge merged over it.
func under(found, merge any) (any, error) {
	over, ok := merge.(*data.Map)
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

// choose returns the first entry that is not None and whose key matches the value.
func choose(table, of *data.Map, key any) (any, error) {
	v, ok, err := Lookup(of, key, ":")
	if !ok {
		return nil, err
	}
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	for _, value := range values {
		if entry := matched(table, data.Str(value)); entry != nil {
			return entry, nil
		}
	}
	return nil, nil
}

// matched returns the entry of the first key that matches a text.
func matched(table *data.Map, text string) any {
	for pattern, entry := range table.All() {
		if match.CompileGlob(data.Str(pattern)).Match(text) {
			return entry
		}
	}
	return nil
}

// overBase returns found merged over the entry base.
func overBase(table *data.Map, base, found any) (any, error) {
	if !data.Truth(base) || !data.Hashable(base) || !table.Has(base) {
		return found, nil
	}
	entry := data.DeepCopy(table.Value(base))
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

// mergeMaps merges from into m, recursively for maps under the same key (salt/utils/dictupdate.py,
// update).
func mergeMaps(m, from *data.Map) {
	for k, v := range from.All() {
		old, isMap := m.Value(k).(*data.Map)
		sub, alsoMap := v.(*data.Map)
		if isMap && alsoMap {
			mergeMaps(old, sub)
			continue
		}
		m.Set(k, data.DeepCopy(v))
	}
}

func saltException(text string) error {
	return loader.Exception("salt.exceptions.SaltException", "%s", text)
}

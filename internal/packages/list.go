package packages

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Add adds a version of a package.
func Add(pkgs *data.Map, name, version string) {
	versions, _ := pkgs.Value(name).([]any)
	pkgs.Set(name, append(versions, version))
}

// Sort sorts the versions of each package as texts, without duplicates.
func Sort(pkgs *data.Map) {
	for name, v := range pkgs.All() {
		if versions, ok := v.([]any); ok && len(versions) > 1 {
			slices.SortFunc(versions, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
			pkgs.Set(name, slices.CompactFunc(versions, data.Equal))
		}
	}
}

// Stringify joins the versions of each package with commas.
func Stringify(pkgs *data.Map) {
	for name, v := range pkgs.All() {
		if versions, ok := v.([]any); ok {
			pkgs.Set(name, Joined(versions))
		}
	}
}

// Joined returns versions joined with commas.
func Joined(versions []any) string {
	if len(versions) == 1 {
		return data.Str(versions[0])
	}
	texts := make([]string, len(versions))
	for i, v := range versions {
		texts[i] = data.Str(v)
	}
	return strings.Join(texts, ",")
}

// Changes returns the differences between two dictionaries: each key with its old and its new
// value, "" if it is missing, sorted by name (salt/utils/data.py, compare_dicts).
func Changes(before, after *data.Map) *data.Map {
	names := after.Keys()
	for _, name := range before.Keys() {
		if !after.Has(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	changes := &data.Map{}
	for _, name := range names {
		was, had := before.Get(name)
		is, has := after.Get(name)
		switch {
		case !had:
			changes.Set(name, data.NewMap("old", "", "new", is))
		case !has:
			changes.Set(name, data.NewMap("new", "", "old", was))
		case !data.Equal(was, is):
			changes.Set(name, data.NewMap("old", was, "new", is))
		}
	}
	return changes
}

// Versions implements pkg.version: it selects the given names, each of which may be a pattern with
// a star, from all packages with their lists of versions. For one name that is no pattern it
// returns the versions only. They are joined with commas unless asList is true.
func Versions(all *data.Map, names []string, asList bool) any {
	found, glob := &data.Map{}, false
	for _, name := range names {
		if !strings.Contains(name, "*") {
			versions, _ := all.Value(name).([]any)
			found.Set(name, slices.Clone(versions))
			continue
		}
		glob = true
		for known, versions := range all.All() {
			if loader.Glob(name, data.Str(known)) {
				list, _ := versions.([]any)
				found.Set(known, slices.Clone(list))
			}
		}
	}
	if !asList {
		Stringify(found)
	}
	if found.Len() == 1 && !glob {
		_, v := found.At(0)
		return v
	}
	return found
}

// Alone returns the value of a dictionary with one entry, and any other dictionary itself, for
// functions that take one name or several.
func Alone(all *data.Map) any {
	if all.Len() == 1 {
		_, v := all.At(0)
		return v
	}
	return all
}

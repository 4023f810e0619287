package pillar

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/facts"
)

const delimiter = ":" // salt/defaults: DEFAULT_TARGET_DELIM

type getArgs struct {
	Key              any
	Default          any    `default:"'<Constant.NOT_SET>'"`
	Merge            bool   `default:"False"`
	MergeNestedLists any    `default:"None"`
	Delimiter        string `default:"':'"`
	Pillarenv        any    `default:"None"`
	Saltenv          any    `default:"None"`
}

// get returns a value of the pillar that the minion has in memory. A colon separates the keys of
// nested dictionaries and lists: pkg:apache is the key apache of the dictionary pkg.
//
// default
//
//	The result if the value does not exist. Without it that is an empty string, or an error if
//	the option pillar_raise_on_missing is set.
//
// merge : False
//
//	Merge the value over the default. Both must be dictionaries, which are merged at all depths,
//	or lists, which are joined. Otherwise the value is returned unchanged.
//
// merge_nested_lists
//
//	Join lists inside merged dictionaries. Default: the option pillar_merge_lists.
//
// delimiter
//
//	The separator of the keys instead of the colon.
//
// pillarenv
//
//	Compile a fresh pillar of this environment and read that instead.
//
// saltenv
//
//	Used as pillarenv if the option pillarenv_from_saltenv is set.
//
// CLI Example:
//
//	salt '*' pillar.get pkg:apache
//	salt '*' pillar.get abc::def|ghi delimiter='|'
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	raises := data.Equal(a.Default, notSet) && data.Truth(m.env.Option("pillar_raise_on_missing"))
	if data.Equal(a.Default, notSet) {
		a.Default = ""
	}
	p, err := m.of(ctx, a.Pillarenv, a.Saltenv)
	if err != nil {
		return nil, err
	}
	v, found, err := facts.Lookup(p, a.Key, a.Delimiter)
	if err != nil {
		return nil, err
	}
	if a.Merge {
		if merged, ok := m.mergedWith(a, v, found); ok {
			return merged, nil
		}
	}
	switch {
	case !found && raises:
		return nil, missing(a.Key)
	case !found:
		return a.Default, nil
	}
	return data.Clone(v), nil
}

// mergedWith returns a value merged over the default. If they cannot be merged, it logs the reason
// and returns false.
func (m *module) mergedWith(a getArgs, v any, found bool) (any, bool) {
	switch below := a.Default.(type) {
	case *data.Map:
		over, ok := v.(*data.Map)
		if ok || !found {
			merged := data.Clone(below).(*data.Map)
			data.Merge(merged, data.Clone(over).(*data.Map), m.joins(a.MergeNestedLists))
			return merged, true
		}
		m.logMergeError(a.Default, "a dict", v)
	case []any:
		over, ok := v.([]any)
		if ok || !found {
			return joined(below, over), true
		}
		m.logMergeError(a.Default, "a list", v)
	default:
		m.env.Log.Errorf("pillar.get: Default (%s) is of type '%s', must be a dict or list to merge. Merge will be skipped.",
			data.Str(a.Default), loader.TypeName(a.Default))
	}
	return nil, false
}

func (m *module) logMergeError(below any, kind string, v any) {
	m.env.Log.Errorf("pillar.get: Default (%s) is %s, but the returned pillar value (%s) is of type '%s'. Merge will be skipped.",
		data.Str(below), kind, data.Str(v), loader.TypeName(v))
}

func (m *module) joins(asked any) bool {
	if asked == nil {
		asked = m.env.Option("pillar_merge_lists")
	}
	return data.Truth(asked)
}

// joined returns list with the elements of more that it lacks.
func joined(list, more []any) []any {
	all := data.Clone(list).([]any)
	for _, v := range more {
		if !slices.ContainsFunc(list, func(e any) bool { return data.Equal(e, v) }) {
			all = append(all, data.Clone(v))
		}
	}
	return all
}

// missing returns Python's KeyError for a key that is not in the pillar.
func missing(key any) error {
	return loader.Exception("KeyError", "%s", data.Repr("Pillar key not found: "+data.Str(key)))
}

type itemArgs struct {
	Keys []any     `args:"args"`
	More *data.Map `kwargs:"kwargs"`
}

// item returns several values of the pillar that the minion has in memory, by key. A colon
// separates the keys of nested dictionaries and lists, as in pillar.get.
//
// default
//
//	The result for missing values. Default: an empty string.
//
// delimiter
//
//	The separator of the keys instead of the colon.
//
// pillarenv, saltenv
//
//	As in pillar.get.
//
// CLI Example:
//
//	salt '*' pillar.item foo
//	salt '*' pillar.item foo:bar
//	salt '*' pillar.item foo bar baz
func (m *module) item(ctx context.Context, a itemArgs) (any, error) {
	p, err := m.of(ctx, a.More.Value("pillarenv"), a.More.Value("saltenv"))
	if err != nil {
		return nil, err
	}
	fallback, delim := any(""), delimiter
	if v, ok := a.More.Get("default"); ok {
		fallback = v
	}
	if v, ok := a.More.Get("delimiter"); ok {
		delim = data.Str(v)
	}
	return values(p, a.Keys, delim, fallback)
}

func values(p *data.Map, keys []any, delim string, fallback any) (any, error) {
	all := data.NewMap()
	for _, key := range keys {
		v, ok, err := facts.Lookup(p, key, delim)
		switch {
		case err != nil:
			return nil, err
		case !data.Hashable(key):
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
		case !ok:
			v = fallback
		}
		all.Set(key, data.Clone(v))
	}
	return all, nil
}

type rawArgs struct {
	Key any `default:"None"`
}

// raw returns the pillar that the minion has in memory, or one key of it.
//
// CLI Example:
//
//	salt '*' pillar.raw
//	salt '*' pillar.raw key='roles'
func (m *module) raw(_ context.Context, a rawArgs) (any, error) {
	p := m.env.PillarNow()
	switch {
	case !data.Truth(a.Key):
		return data.Clone(p), nil
	case !data.Hashable(a.Key):
		return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Key))
	}
	v, ok := p.Get(a.Key)
	if !ok {
		return data.NewMap(), nil
	}
	return data.Clone(v), nil
}

type keysArgs struct {
	Key       any
	Delimiter string `default:"':'"`
}

// keys returns the keys of a dictionary in the pillar that the minion has in memory. A colon
// separates the keys of nested dictionaries and lists, as in pillar.get.
//
// delimiter
//
//	The separator of the keys instead of the colon.
//
// CLI Example:
//
//	salt '*' pillar.keys web:sites
func (m *module) keys(_ context.Context, a keysArgs) (any, error) {
	v, ok, err := facts.Lookup(m.env.PillarNow(), a.Key, a.Delimiter)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, missing(a.Key)
	}
	in, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Exception("ValueError", "Pillar value in key %s is not a dict",
			data.Str(a.Key))
	}
	return in.Keys(), nil
}

type filterArgs struct {
	LookupDict any
	Pillar     any
	Merge      any `default:"None"`
	Default    any `default:"'default'"`
	Base       any `default:"None"`
}

// filterBy returns the entry of a dictionary whose key, a glob, matches a value of the pillar.
//
// lookup_dict
//
//	The dictionary. Its keys are globs that are matched against the value.
//
// pillar
//
//	The key of the value, as in pillar.get. If the value is a list, its first element that a
//	glob matches is used.
//
// merge
//
//	A dictionary to merge over the result.
//
// default : default
//
//	The key of the entry to return if no glob matches.
//
// base
//
//	The key of an entry over which the selected one is merged.
//
// CLI Example:
//
//	salt '*' pillar.filter_by '{web: Serve it up, db: I query, default: x_x}' role
func (m *module) filterBy(_ context.Context, a filterArgs) (any, error) {
	return facts.Filter{Table: a.LookupDict, Of: m.env.PillarNow(), Key: a.Pillar, Merge: a.Merge,
		Default: a.Default, Base: a.Base}.Choose()
}

type fileExistsArgs struct {
	Path    string
	Saltenv any `default:"None"`
}

// fileExists reports whether a file exists in the directories of the option pillar_roots. It is
// meant for the host of a master, and for minions that compile their own pillar.
//
// path
//
//	The path of the file, relative to those directories.
//
// saltenv
//
//	Search only this environment.
//
// CLI Example:
//
//	salt '*' pillar.file_exists foo/bar.sls
func (m *module) fileExists(_ context.Context, a fileExistsArgs) (any, error) {
	roots, _ := m.env.Option("pillar_roots").(*data.Map)
	if roots.Len() == 0 {
		return nil, loader.Execution("No pillar_roots found. Are you running this on the master?")
	}
	for env, dirs := range roots.All() {
		if data.Truth(a.Saltenv) && !data.Equal(env, a.Saltenv) {
			continue
		}
		if slices.ContainsFunc(data.TextsOf(dirs),
			func(dir string) bool { return isFile(dir, a.Path) }) {
			return true, nil
		}
	}
	return false, nil
}

// isFile reports whether a path is a file. A relative path starts at dir.
func isFile(dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, filepath.FromSlash(path))
	}
	st, err := os.Stat(accounts.Expand(path))
	return err == nil && st.Mode().IsRegular()
}

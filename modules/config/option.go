package config

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// places selects the places to skip.
type places struct{ noOpts, noGrains, noPillar, noMaster bool }

// list returns the maps to search, in order of priority.
func (m *module) list(p places) []*data.Map {
	var maps []*data.Map
	for _, from := range []struct {
		omit bool
		get  func() *data.Map
	}{{p.noOpts, m.opts}, {p.noGrains, m.env.GrainsNow}, {p.noPillar, m.env.PillarNow},
		{p.noMaster, m.master}} {
		if !from.omit {
			maps = append(maps, from.get())
		}
	}
	return maps
}

// first returns the value of a key in the first place that has it.
func (m *module) first(key any, p places, fallback any) any {
	for _, from := range append(m.list(p), defaults()) {
		if v, ok := from.Get(key); ok {
			return v
		}
	}
	return fallback
}

type optionArgs struct {
	Value      any
	Default    any  `default:"None"`
	OmitOpts   bool `default:"False"`
	OmitGrains bool `default:"False"`
	OmitPillar bool `default:"False"`
	OmitMaster bool `default:"False"`
	OmitAll    bool `default:"False"`
	Wildcard   bool `default:"False"`
}

// option returns a setting by its full name, without descending into dictionaries. It searches the
// same places as config.get: the minion's options, grains and pillar, the master's options and some
// defaults. This lists the defaults:
//
//	salt '*' config.option '*' omit_all=True wildcard=True
//
// default
//
//	The result if nothing is found. Default: an empty string, with wildcard=True an empty
//	dictionary.
//
// omit_opts : False
//
//	Skip the minion's options.
//
// omit_grains : False
//
//	Skip the grains.
//
// omit_pillar : False
//
//	Skip the pillar.
//
// omit_master : False
//
//	Skip the master's options.
//
// omit_all : False
//
//	Skip all of these and use only the defaults.
//
// wildcard : False
//
//	Treat the name as a pattern such as foo.ba*, and return a dictionary of all matching settings.
//
// CLI Example:
//
//	salt '*' config.option redis.host
func (m *module) option(_ context.Context, a optionArgs) (any, error) {
	p := places{a.OmitOpts || a.OmitAll, a.OmitGrains || a.OmitAll, a.OmitPillar || a.OmitAll,
		a.OmitMaster || a.OmitAll}
	if a.Wildcard {
		return m.wildcard(a, p)
	}
	if !data.Hashable(a.Value) {
		return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Value))
	}
	if a.Default == nil {
		a.Default = ""
	}
	return m.first(a.Value, p, a.Default), nil
}

// wildcard returns all settings whose names match a pattern.
func (m *module) wildcard(a optionArgs, p places) (any, error) {
	pattern, ok := a.Value.(string)
	if !ok {
		return nil, loader.TypeError("expected str, bytes or os.PathLike object, not %s",
			loader.TypeName(a.Value))
	}
	found, from := data.NewMap(), m.list(p)
	for i := len(from) - 1; i >= 0; i-- {
		found.Update(matching(from[i], pattern))
	}
	for k, v := range matching(defaults(), pattern).All() {
		if !found.Has(k) {
			found.Set(k, v)
		}
	}
	if found.Len() == 0 && a.Default != nil {
		return a.Default, nil
	}
	return found, nil
}

func matching(m *data.Map, pattern string) *data.Map {
	found := data.NewMap()
	for k, v := range m.All() {
		if name, ok := k.(string); ok && loader.Glob(pattern, name) {
			found.Set(k, v)
		}
	}
	return found
}

type mergeArgs struct {
	Value      any
	Default    any  `default:"''"`
	OmitOpts   bool `default:"False"`
	OmitMaster bool `default:"False"`
	OmitPillar bool `default:"False"`
}

// merge returns a setting as config.option does, but merges the dictionaries and lists of all
// places that have it. The minion's options override the master's and the pillar.
//
// CLI Example:
//
//	salt '*' config.merge schedule
func (m *module) merge(_ context.Context, a mergeArgs) (any, error) {
	if !data.Hashable(a.Value) {
		return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(a.Value))
	}
	var all any
	for _, from := range m.mergePlaces(a) {
		v, ok := from.Get(a.Value)
		if !ok {
			continue
		}
		all = joined(all, v)
		if text, ok := all.(string); ok {
			return text, nil
		}
	}
	if all != nil {
		return all, nil
	}
	if v, ok := defaults().Get(a.Value); ok {
		return v, nil
	}
	return a.Default, nil
}

// mergePlaces is like places.list in the different order of config.merge.
func (m *module) mergePlaces(a mergeArgs) []*data.Map {
	var maps []*data.Map
	if !a.OmitOpts {
		maps = append(maps, m.opts())
	}
	if !a.OmitMaster {
		maps = append(maps, m.master())
	}
	if !a.OmitPillar {
		maps = append(maps, m.env.PillarNow())
	}
	return maps
}

// joined adds the values of a later place to the known ones: missing keys of a dictionary, or the
// elements of a list.
func joined(known, later any) any {
	if known == nil {
		return later
	}
	if m, ok := known.(*data.Map); ok {
		if l, ok := later.(*data.Map); ok {
			all := l.Clone()
			all.Update(m)
			return all
		}
		return known
	}
	a, isList := elements(known)
	b, areLists := elements(later)
	if isList && areLists {
		return append(append([]any{}, a...), b...)
	}
	return known
}

func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case data.Tuple:
		return v, true
	}
	return nil, false
}

package grains

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/facts"
)

type filterArgs struct {
	LookupDict any
	Grain      any `default:"'os_family'"`
	Merge      any `default:"None"`
	Default    any `default:"'default'"`
	Base       any `default:"None"`
}

// filterBy returns the entry of a dictionary whose key, a glob, matches a grain. Templates use it
// for settings that differ by system.
//
// lookup_dict
//
//	The dictionary. Its keys are globs that are matched against the grain.
//
// grain
//
//	The name of the grain. Default: os_family. If it is a list, the first element that a key matches
//	is used.
//
// merge
//
//	A dictionary to merge over the result.
//
// default
//
//	The key of the entry to use if none matches.
//
// base
//
//	The key of an entry that the chosen one is merged over.
//
// CLI Example:
//
//	salt '*' grains.filter_by '{Debian: Debheads rule, RedHat: I love my hat}'
//	salt '*' grains.filter_by '{A: B, C: {D: {E: F, G: H}}}' 'xxx' '{D: {E: I}, J: K}' 'C'
func (m *module) filterBy(_ context.Context, a filterArgs) (any, error) {
	return facts.Filter{Table: a.LookupDict, Of: m.grains(), Key: a.Grain, Merge: a.Merge,
		Default: a.Default, Base: a.Base}.Choose()
}

func saltException(text string) error {
	return loader.Exception("salt.exceptions.SaltException", "%s", text)
}

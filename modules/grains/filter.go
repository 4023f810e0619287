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
	return facts.Filter{Table: a.LookupDict, Of: m.grains(), Key: a.Grain, Merge: a.Merge, Default: a.Default, Base: a.Base}.Choose()
}

func saltException(text string) error {
	return loader.Exception("salt.exceptions.SaltException", "%s", text)
}

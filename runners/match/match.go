// Package match is the runner match of Salt 3007: it tells whether a target names a minion (salt/runners/match.py).
package match

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner match.
func Plugin(keys pki.Store, bank cache.Bank) loader.Plugin {
	return loader.Plugin{Name: "match", New: func(env *loader.Env) (*loader.Module, error) {
		if keys == nil || bank == nil {
			return nil, errors.New("there is no master's cache")
		}
		m := &module{env, keys, bank}
		return &loader.Module{Funcs: []loader.Func{loader.F("compound_matches", m.compoundMatches)}}, nil
	}}
}

type module struct {
	env  *loader.Env
	keys pki.Store
	bank cache.Bank
}

type compoundArgs struct {
	Expr     any
	MinionID string `name:"minion_id"`
}

// compoundMatches returns the id of a minion under res where a compound target names it for sure, and False where it does
// not or where nothing is known of the minion. Pillar is compared as it is, without wildcards.
//
// CLI Example:
//
//	salt-run match.compound_matches 'I@foo:bar and G@os:Deb* and not db*' myminion
func (m *module) compoundMatches(_ context.Context, a compoundArgs) (any, error) {
	no := data.NewMap("res", false)
	switch {
	case !data.Truth(m.env.Option("minion_data_cache")):
		m.env.Log.Warn("Minion data cache is disabled. Cannot evaluate compound matcher expression.")
		return no, nil
	case pki.ValidID(a.MinionID) != nil:
		m.env.Log.Warn("Got invalid minion ID.")
		return no, nil
	}
	fleet, err := runners.Fleet(m.env.Opts, m.keys, m.bank, false)
	if err != nil {
		return no, nil
	}
	ids, _, err := fleet.Resolve(a.Expr, "compound_pillar_exact", ":")
	if err != nil || !slices.Contains(ids, a.MinionID) {
		return no, nil
	}
	return data.NewMap("res", a.MinionID), nil
}

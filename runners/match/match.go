// Package match is the runner match of Salt 3007: it checks whether a target matches a minion
// (salt/runners/match.py).
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
			return nil, errors.New("no master cache is configured")
		}
		m := &module{env, keys, bank}
		return &loader.Module{Funcs: []loader.Func{loader.F("compound_matches",
			m.compoundMatches)}}, nil
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

// compoundMatches returns the id of a minion under res if a compound target certainly matches it,
// and False if not or if nothing is known about the minion. Pillar values are compared literally,
// without wildcards.
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

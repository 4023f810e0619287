// Package minions is Salt's wheel module minions (salt/wheel/minions.py).
package minions

import (
	"context"
	"errors"

	"github.com/brineproject/brine/cache"
	cached "github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the wheel module minions. connections returns the ids of the connected minions. bank
// has their data; nil is unknown.
func Plugin(connections func() ([]string, error), bank cache.Bank) loader.Plugin {
	return loader.Plugin{Name: "minions", New: func(*loader.Env) (*loader.Module, error) {
		if connections == nil {
			return nil, errors.New("the connected minions are unknown")
		}
		m := &module{connections, bank}
		return &loader.Module{Funcs: []loader.Func{loader.F("connected", m.connected),
			loader.F("pillar", m.pillar).SecretResult(loader.SecretAll)}}, nil
	}}
}

type module struct {
	connections func() ([]string, error)
	bank        cache.Bank
}

// connected returns the minions that are connected to the master.
//
// CLI Example:
//
//	salt-call saltutil.wheel minions.connected
func (m *module) connected(context.Context, loader.NoArgs) (any, error) {
	ids, err := m.connections()
	if err != nil {
		return nil, err
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list, nil
}

type pillarArgs struct{ Minion string }

// pillar returns the cached pillar of a minion. Unlike that of the runner cache.pillar, the answer reaches
// clients of the HTTP API with its values, which events and the job cache hide. Salt has no such function.
//
// CLI Example:
//
//	salt-call saltutil.wheel minions.pillar web1
func (m *module) pillar(_ context.Context, a pillarArgs) (any, error) {
	if m.bank == nil {
		return nil, loader.Execution("no master cache is configured")
	}
	_, pillar, _ := cached.Cache{Bank: m.bank}.Minion(a.Minion)
	if pillar == nil {
		pillar = &data.Map{}
	}
	return pillar, nil
}

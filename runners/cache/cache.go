// Package cache is Salt's runner cache: the master's cached data of its minions, and other data in
// its cache (salt/runners/cache.py, salt/utils/master.py).
package cache

import (
	"context"
	"errors"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// Needs are the runner's dependencies.
type Needs struct {
	Keys  pki.Store
	Bank  cache.Bank
	Locks Locks // of git; nil if git is not in use
}

// Locks removes the locks that block updates of git repositories.
type Locks interface {
	ClearLock(ctx context.Context, role, remote, kind string) (cleared, failed []string, err error)
}

// Plugin returns the runner cache.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "cache", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Keys == nil || n.Bank == nil {
			return nil, errors.New("no master cache is configured")
		}
		m := &module{env, n}
		return &loader.Module{Funcs: append(m.minions(), m.banks()...)}, nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

func (m *module) minions() []loader.Func {
	return []loader.Func{
		loader.F("clear_all", m.clearAll),
		loader.F("clear_grains", m.clearGrains),
		loader.F("clear_mine", m.clearMine),
		loader.F("clear_mine_func", m.clearMineFunc),
		loader.F("clear_pillar", m.clearPillar),
		loader.F("grains", m.grains),
		loader.F("mine", m.mine),
		loader.F("pillar", m.pillar).SecretResult(loader.SecretAll),
	}
}

// targets returns the minions that match a target, including those without data. An invalid target
// matches none.
func (m *module) targets(tgt, kind any) ([]string, error) {
	fleet, err := runners.Fleet(m.env.Opts, m.needs.Keys, m.needs.Bank, true)
	if err != nil || tgt == nil {
		return nil, err
	}
	ids, _, err := fleet.Resolve(tgt, data.Str(kind), ":")
	if err != nil {
		m.env.Log.WithError(err).Debugf("No minions matched for tgt=%q", data.Str(tgt))
		return nil, nil
	}
	return ids, nil
}

// kept reports whether the master caches minions' data.
func (m *module) kept() bool { return data.Truth(m.env.Option("minion_data_cache")) }

func (m *module) cached() minions.Cache { return minions.Cache{Bank: m.needs.Bank} }

type grainsArgs struct {
	Tgt     any
	TgtType any       `default:"'glob'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// grains returns the cached grains of minions.
//
// CLI Example:
//
//	salt-run cache.grains '*'
func (m *module) grains(_ context.Context, a grainsArgs) (any, error) {
	ids, err := m.targets(a.Tgt, a.TgtType)
	if err != nil {
		return nil, err
	}
	return m.cachedPart(ids, func(grains, _ *data.Map) *data.Map { return grains }), nil
}

// cachedPart returns a part of each minion's cached data; a minion without any has an empty map.
func (m *module) cachedPart(ids []string, part func(grains, pillar *data.Map) *data.Map) *data.Map {
	ret := &data.Map{}
	for _, id := range ids {
		v := &data.Map{}
		if m.kept() {
			if p := part(first2(m.cached().Minion(id))); p != nil {
				v = p
			}
		}
		ret.Set(id, v)
	}
	return ret
}

func first2(a, b *data.Map, _ bool) (*data.Map, *data.Map) { return a, b }

type tgtArgs struct {
	Tgt     any       `default:"None"`
	TgtType any       `default:"'glob'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// pillar returns the cached pillar of minions; without a target, of all minions that have one.
// Events and the job cache only name the minions.
//
// CLI Example:
//
//	salt-run cache.pillar
func (m *module) pillar(_ context.Context, a tgtArgs) (any, error) {
	ids, err := m.targets(a.Tgt, a.TgtType)
	if err != nil {
		return nil, err
	}
	if !data.Truth(a.Tgt) && m.kept() {
		ids = m.cached().IDs()
	}
	return m.cachedPart(ids, func(_, pillar *data.Map) *data.Map { return pillar }), nil
}

// mine returns the mine data of minions; without a target, of all minions.
//
// CLI Example:
//
//	salt-run cache.mine
func (m *module) mine(_ context.Context, a tgtArgs) (any, error) {
	ids, err := m.targets(a.Tgt, a.TgtType)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, id := range ids {
		ret.Set(id, &data.Map{})
	}
	if !m.kept() && !data.Truth(m.env.Option("enforce_mine_cache")) {
		return ret, nil
	}
	if len(ids) == 0 {
		ids = m.cached().IDs()
	}
	for _, id := range ids {
		if v, ok := m.cached().Map(id, minions.MineKey); ok {
			ret.Set(id, v)
		}
	}
	return ret, nil
}

type clearArgs struct {
	Tgt     any `default:"None"`
	TgtType any `default:"'glob'"`
}

// clearPillar deletes the cached pillar of minions.
//
// CLI Example:
//
//	salt-run cache.clear_pillar tgt='*'
func (m *module) clearPillar(_ context.Context, a clearArgs) (any, error) {
	return m.clear(a, clearSpec{pillar: true})
}

// clearGrains deletes the cached grains of minions.
//
// CLI Example:
//
//	salt-run cache.clear_grains tgt='*'
func (m *module) clearGrains(_ context.Context, a clearArgs) (any, error) {
	return m.clear(a, clearSpec{grains: true})
}

// clearMine deletes the mine data of minions.
//
// CLI Example:
//
//	salt-run cache.clear_mine tgt='*'
func (m *module) clearMine(_ context.Context, a clearArgs) (any, error) {
	return m.clear(a, clearSpec{mine: true})
}

type clearFuncArgs struct {
	Tgt               any `default:"None"`
	TgtType           any `default:"'glob'"`
	ClearMineFuncFlag any `default:"None"`
}

// clearMineFunc deletes one function of the mine data of minions.
//
// CLI Example:
//
//	salt-run cache.clear_mine_func tgt='*' clear_mine_func_flag='network.interfaces'
func (m *module) clearMineFunc(_ context.Context, a clearFuncArgs) (any, error) {
	return m.clear(clearArgs{a.Tgt, a.TgtType}, clearSpec{mineFunc: a.ClearMineFuncFlag})
}

// clearAll deletes the cached grains, pillar and mine data of minions.
//
// CLI Example:
//
//	salt-run cache.clear_all tgt='*'
func (m *module) clearAll(_ context.Context, a clearArgs) (any, error) {
	return m.clear(a, clearSpec{grains: true, pillar: true, mine: true})
}

// clearSpec says what to delete.
type clearSpec struct {
	grains, pillar, mine bool
	mineFunc             any // a function of the mine; nil deletes none
}

func (m *module) clear(a clearArgs, f clearSpec) (any, error) {
	if a.Tgt == nil || f == (clearSpec{}) {
		return false, nil
	}
	ids, err := m.targets(a.Tgt, a.TgtType)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := errors.Join(m.clearData(id, f), m.clearMined(id, f)); err != nil {
			return nil, loader.Execution("clear cache of minion %s: %w", id, err)
		}
	}
	return true, nil
}

// clearData deletes grains or pillar, and the file if neither is left.
func (m *module) clearData(id string, f clearSpec) error {
	if !f.grains && !f.pillar {
		return nil
	}
	grains, pillar, _ := m.cached().Minion(id)
	rest := &data.Map{}
	if !f.grains && grains.Len() > 0 {
		rest.Set("grains", grains)
	}
	if !f.pillar && pillar.Len() > 0 {
		rest.Set("pillar", pillar)
	}
	if rest.Len() == 0 {
		return m.needs.Bank.Flush(minions.BankOf(id), minions.DataKey)
	}
	return m.store(minions.BankOf(id), minions.DataKey, rest)
}

func (m *module) clearMined(id string, f clearSpec) error {
	switch {
	case f.mine:
		return m.needs.Bank.Flush(minions.BankOf(id), minions.MineKey)
	case f.mineFunc == nil || !data.Hashable(f.mineFunc):
		return nil
	}
	mined, ok := m.cached().Map(id, minions.MineKey)
	if !ok || !mined.Delete(f.mineFunc) {
		return nil
	}
	return m.store(minions.BankOf(id), minions.MineKey, mined)
}

func (m *module) store(bank, key string, v any) error { return store(m.needs.Bank, bank, key, v) }

func store(b cache.Bank, bank, key string, v any) error {
	raw, err := payload.MarshalBin(v)
	if err != nil {
		return err
	}
	return b.Store(bank, key, raw)
}

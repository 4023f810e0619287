// Package pillar is Salt's runner pillar: it compiles a minion's pillar on the master from the
// minion's cached grains (salt/runners/pillar.py).
//
// Unlike in Salt, with pillar_cache_backend memory the functions about pillar_cache see the running
// master's data if the master calls them.
package pillar

import (
	"context"
	"errors"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// Compiler compiles pillars as the master does for its minions.
type Compiler interface {
	Compile(ctx context.Context, r pillar.Request) (*data.Map, error)
	Top(ctx context.Context, r pillar.Request) (top *data.Map, wrong []any, err error)
	// Saved returns pillar_cache; nil if it is off.
	Saved() (*pillar.Saved, error)
}

// Needs are the runner's dependencies.
type Needs struct {
	Keys     pki.Store
	Bank     cache.Bank
	Compiler Compiler
}

// Plugin returns the runner pillar.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "pillar", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Keys == nil || n.Bank == nil || n.Compiler == nil {
			return nil, errors.New("no master cache is configured")
		}
		m := &module{env, n}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("clear_pillar_cache", m.clearPillarCache).SecretResult(loader.SecretAll),
			loader.F("show_pillar", m.showPillar).SecretResult(loader.SecretAll),
			loader.F("show_pillar_cache", m.showPillarCache).SecretResult(loader.SecretAll),
			loader.F("show_top", m.showTop),
		}}, nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

// grains returns the cached grains of a minion; nil if the master has none. For an empty id they
// are those of the last minion.
func (m *module) grains(id string) *data.Map {
	if !data.Truth(m.env.Option("minion_data_cache")) {
		return nil
	}
	known := minions.Cache{Bank: m.needs.Bank}
	if ids := known.IDs(); id == "" && len(ids) > 0 {
		id = ids[len(ids)-1]
	}
	grains, _, _ := known.Minion(id)
	if grains == nil {
		return nil
	}
	return grains.Clone()
}

type topArgs struct {
	Minion  any `default:"None"`
	Saltenv any `default:"'base'"`
}

// showTop returns the merged top files of pillar, or their errors; without a minion those of any.
//
// CLI Example:
//
//	salt-run pillar.show_top
func (m *module) showTop(ctx context.Context, a topArgs) (any, error) {
	r := pillar.Request{ID: text(a.Minion), SaltEnv: text(a.Saltenv)}
	r.Grains = m.grains(r.ID)
	top, wrong, err := m.needs.Compiler.Top(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(wrong) == 0 {
		return top, nil
	}
	return wrong, runners.RunOf(ctx).Fire(ctx,
		"progress", data.NewMap("data", wrong, "outputter", "nested"))
}

type pillarArgs struct {
	Minion any       `default:"'*'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// showPillar returns the pillar of a minion; without one, that of a minion named *. saltenv and
// pillarenv name environments; all other keyword arguments are grains. Events and the job cache
// omit the pillar.
//
// CLI Example:
//
//	salt-run pillar.show_pillar 'www.example.com'
//	salt-run pillar.show_pillar pillarenv=dev
func (m *module) showPillar(ctx context.Context, a pillarArgs) (any, error) {
	r := pillar.Request{ID: text(a.Minion), SaltEnv: "base"}
	if r.Grains = m.grains(r.ID); r.Grains == nil {
		r.Grains = data.NewMap("fqdn", a.Minion)
	}
	for name, v := range a.Kwargs.All() {
		switch name {
		case "saltenv":
			r.SaltEnv = text(v)
		case "pillarenv":
			r.PillarEnv = text(v)
		default:
			r.Grains.Set(name, v)
		}
	}
	return result(m.needs.Compiler.Compile(ctx, r))
}

// clearPillarCache deletes the entries of pillar_cache for the minions that match a glob. It
// returns False if pillar_cache is off.
//
// CLI Example:
//
//	salt-run pillar.clear_pillar_cache 'minion'
func (m *module) clearPillarCache(_ context.Context, a pillarArgs) (any, error) {
	saved, ids, err := m.saved(a.Minion)
	if saved == nil || err != nil {
		return false, err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, saved.Clear(id))
	}
	return data.NewMap(), errors.Join(errs...)
}

// showPillarCache returns the entries of pillar_cache for the minions that match a glob, for the
// environment pillarenv. It returns False if pillar_cache is off.
//
// CLI Example:
//
//	salt-run pillar.show_pillar_cache 'minion'
func (m *module) showPillarCache(_ context.Context, a pillarArgs) (any, error) {
	saved, ids, err := m.saved(a.Minion)
	if saved == nil || err != nil {
		return false, err
	}
	ret := data.NewMap()
	for _, id := range ids {
		if p, ok := saved.Get(id, text(a.Kwargs.Value("pillarenv"))); ok {
			ret.Set(id, p)
		}
	}
	return ret, nil
}

// saved returns pillar_cache and the minions that match a glob; nil if it is off.
func (m *module) saved(glob any) (*pillar.Saved, []string, error) {
	saved, err := m.needs.Compiler.Saved()
	if saved == nil || err != nil {
		m.env.Log.Info("The pillar_cache is set to False or not enabled.")
		return nil, nil, err
	}
	fleet, err := runners.Fleet(m.env.Opts, m.needs.Keys, m.needs.Bank, false)
	if err != nil {
		return nil, nil, err
	}
	ids, _, err := fleet.Resolve(glob, "glob", ":")
	return saved, ids, err
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

func result(m *data.Map, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

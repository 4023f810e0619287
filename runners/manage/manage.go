// Package manage is Salt's runner manage: which minions are up, which are connected, and their
// versions (salt/runners/manage.py).
//
// A running Brine master knows which minions are connected; up, down and status then use that
// without contacting the minions. Those behind syndics they ping, and wait only for those that the lower
// masters know as connected. With a Salt master they ping all minions, as in Salt.
package manage

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/minions"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// ErrUnknown is wrapped by Needs.Connected if the connected minions are unknown, as with a Salt
// master.
var ErrUnknown = errors.New("the connected minions are unknown")

// Needs are the runner's dependencies.
type Needs struct {
	Keys pki.Store
	Bank cache.Bank
	// Connected returns the ids of the connected minions, sorted; if nil they are unknown.
	Connected func() ([]string, error)
	// Connections returns the connected minions; if nil, nothing but their ids is known.
	Connections func() (map[string]presence.Connection, error)
}

// Plugin returns the runner manage.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "manage", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Keys == nil || n.Bank == nil {
			return nil, errors.New("no key store is configured")
		}
		m := &module{env, n}
		return &loader.Module{Funcs: append(m.presence(), m.others()...)}, nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

func (m *module) others() []loader.Func {
	return []loader.Func{
		loader.F("bootstrap", m.bootstrap),
		loader.F("bootstrap_psexec", m.bootstrapPsexec),
		loader.F("down", m.down),
		loader.F("fleet", m.fleet),
		loader.F("key_regen", m.keyRegen),
		loader.F("safe_accept", m.safeAccept),
		loader.F("status", m.status),
		loader.F("syndics", m.listSyndics),
		loader.F("up", m.up),
		loader.F("versions", m.versions),
	}
}

type statusArgs struct {
	Output           bool `default:"True"`
	Tgt              any  `default:"'*'"`
	TgtType          any  `default:"'glob'"`
	Timeout          any  `default:"None"`
	GatherJobTimeout any  `default:"None"`
}

// status returns which minions are up and which are down.
//
// CLI Example:
//
//	salt-run manage.status
//	salt-run manage.status tgt="webservers" tgt_type="nodegroup"
//	salt-run manage.status timeout=5 gather_job_timeout=10
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	s, err := m.lookUp(ctx, statusQuery{a.Tgt, a.TgtType, a.Timeout, a.GatherJobTimeout})
	if err != nil {
		return nil, err
	}
	return data.NewMap("up", data.Values(s.up), "down", data.Values(s.down)), nil
}

type upArgs struct {
	Tgt              any `default:"'*'"`
	TgtType          any `default:"'glob'"`
	Timeout          any `default:"None"`
	GatherJobTimeout any `default:"None"`
}

// up returns the minions that are up.
//
// CLI Example:
//
//	salt-run manage.up
//	salt-run manage.up tgt="webservers" tgt_type="nodegroup"
//	salt-run manage.up timeout=5 gather_job_timeout=10
func (m *module) up(ctx context.Context, a upArgs) (any, error) {
	s, err := m.lookUp(ctx, statusQuery(a))
	if err != nil {
		return nil, err
	}
	return data.Values(s.up), nil
}

type downArgs struct {
	Removekeys       bool `default:"False"`
	Tgt              any  `default:"'*'"`
	TgtType          any  `default:"'glob'"`
	Timeout          any  `default:"None"`
	GatherJobTimeout any  `default:"None"`
}

// down returns the minions that are down.
//
// removekeys
//
//	True deletes their keys. The minions are then pinged first, even if their connections are known.
//
// CLI Example:
//
//	salt-run manage.down
//	salt-run manage.down removekeys=True
//	salt-run manage.down tgt="webservers" tgt_type="nodegroup"
func (m *module) down(ctx context.Context, a downArgs) (any, error) {
	q := statusQuery{a.Tgt, a.TgtType, a.Timeout, a.GatherJobTimeout}
	lookUp := m.lookUp
	if a.Removekeys {
		lookUp = m.ping
	}
	s, err := lookUp(ctx, q)
	if err != nil {
		return nil, err
	}
	if a.Removekeys {
		for _, id := range s.down {
			if _, err := m.env.Registry("wheel").Invoke(ctx, "key.delete", []any{id},
				nil); err != nil {
				return nil, err
			}
		}
	}
	return data.Values(s.down), nil
}

// A statusQuery holds the arguments of status.
type statusQuery struct{ Tgt, TgtType, Timeout, GatherJobTimeout any }

// upDown lists the minions that are up and down, both sorted.
type upDown struct{ up, down []string }

// lookUp uses the known connections. It pings if there are none, or if there may be minions behind
// syndics, whose connections only the lower masters know: these say for the ping who is not connected.
func (m *module) lookUp(ctx context.Context, q statusQuery) (upDown, error) {
	connected, err := m.connected()
	switch {
	case err != nil:
		return m.ping(ctx, q)
	case data.Truth(m.env.Option("order_masters")):
		return m.ask(ctx, q, true)
	}
	fleet, err := runners.Fleet(m.env.Opts, m.needs.Keys, m.needs.Bank, true)
	if err != nil {
		return upDown{}, err
	}
	ids, _, err := fleet.Resolve(q.Tgt, data.Str(q.TgtType), ":")
	if err != nil {
		m.env.Log.WithError(err).Info("the target matches no minion")
	}
	slices.Sort(ids)
	var s upDown
	for _, id := range slices.Compact(ids) {
		if _, ok := slices.BinarySearch(connected, id); ok {
			s.up = append(s.up, id)
		} else {
			s.down = append(s.down, id)
		}
	}
	return s, nil
}

func (m *module) connected() ([]string, error) {
	if m.needs.Connected == nil {
		return nil, ErrUnknown
	}
	return m.needs.Connected()
}

// ping sends test.ping to the minions.
func (m *module) ping(ctx context.Context, q statusQuery) (upDown, error) {
	return m.ask(ctx, q, false)
}

// ask is ping. connected makes it wait only for minions that their masters know as connected.
func (m *module) ask(ctx context.Context, q statusQuery, connected bool) (upDown, error) {
	timeout, gather := q.Timeout, q.GatherJobTimeout
	if !data.Truth(timeout) {
		timeout = m.env.Option("timeout")
	}
	if !data.Truth(gather) {
		gather = m.env.Option("gather_job_timeout")
	}
	var s upDown
	err := runners.Ask(ctx, m.env,
		data.NewMap("tgt", q.Tgt, "tgt_type", q.TgtType, "fun", "test.ping", "arg", []any{},
			"timeout", timeout, "gather_job_timeout", gather, "silent", true, "connected", connected),
		func(id string, answer *data.Map) bool {
			if answer == nil {
				s.down = append(s.down, id)
			} else {
				s.up = append(s.up, id)
			}
			return true
		})
	slices.Sort(s.up)
	slices.Sort(s.down)
	return upDown{slices.Compact(s.up), slices.Compact(s.down)}, err
}

func (m *module) cachedGrains(id string) *data.Map {
	grains, _, _ := minions.Cache{Bank: m.needs.Bank}.Minion(id)
	return grains
}

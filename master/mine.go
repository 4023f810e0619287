package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
)

// mines does the commands about the mine (salt/daemons/masterapi.py, RemoteFuncs._mine and its neighbours). Whose mine it is
// has been proved.
type mines struct {
	store    *mine.Store
	rules    mine.Rules
	settings *settings
	quiet    *loglimit.Limiter
	log      logrus.FieldLogger
}

// mineCommands are the commands about the mine.
func mineCommands(p *parts) map[string]command {
	m := &mines{store: mine.NewStore(p.data.bank), settings: p.settings, quiet: p.quiet, log: p.o.Log}
	m.rules = mine.FleetRules((&fleet{p.keys, p.data, p.settings}).known)
	limits := &peerOption{name: "mine_get", quiet: p.quiet, log: p.o.Log}
	m.rules.Allowed = func(id, fun string) bool {
		set, ok := p.settings.all().Get("mine_get")
		return !ok || set == nil || limits.read(p.settings.now().MineGet).Allow(id, fun)
	}
	return map[string]command{
		"_mine":        {do: m.update, proof: true, effect: true},
		"_mine_get":    {do: m.get, proof: true},
		"_mine_delete": {do: m.delete, proof: true, effect: true},
		"_mine_flush":  {do: m.flush, proof: true, effect: true},
	}
}

// known returns what the master knows of its minions.
func (f *fleet) known() (*match.Fleet, error) {
	accepted, err := f.keys.List(pki.Accepted)
	if err != nil {
		return nil, fmt.Errorf("list accepted keys: %w", err)
	}
	cfg := f.settings.now()
	return &match.Fleet{Accepted: accepted, Cache: f.data, DataCache: cfg.MinionDataCache, Nodegroups: cfg.Nodegroups}, nil
}

// kept reports whether this master keeps a mine.
func (m *mines) kept() bool {
	cfg := m.settings.now()
	return cfg.MinionDataCache || cfg.EnforceMineCache
}

// update puts what a minion sends into its mine; with clear it replaces all, which is what Salt's master means to do and
// fails at.
func (m *mines) update(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("data") {
		return data.NewMap(), nil
	}
	if !m.kept() {
		return true, nil
	}
	err := m.store.Update(c.Caller.ID, c.Load.Raw("data"), data.Truth(c.Load.Value("clear")))
	if errors.Is(err, mine.ErrTooBig) || errors.Is(err, mine.ErrMalformed) {
		m.refuse(c, err)
		return false, nil
	}
	return err == nil, err
}

// refuse names now and then whose mine data was not taken.
func (m *mines) refuse(c *channel.Command, err error) {
	if more, ok := m.quiet.Allow("mine " + c.Caller.ID); ok {
		m.log.WithError(err).Warnf("mine data of minion %s refused (%d more since the last warning)", c.Caller.ID, more)
	}
}

// get answers with results that other minions published.
func (m *mines) get(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("tgt") || !c.Load.Has("fun") {
		return data.NewMap(), nil
	}
	kind, ok := c.Load.Text("tgt_type")
	if !ok {
		kind, _ = c.Load.Text("expr_form") // of old minions
	}
	q := mine.Query{Requester: c.Caller.ID, Target: c.Load.Value("tgt"), Kind: kind, Fun: c.Load.Value("fun")}
	found, err := m.store.Get(q, m.rules)
	if errors.Is(err, mine.ErrTooMuch) {
		if more, ok := m.quiet.Allow("mine_get " + c.Caller.ID); ok {
			m.log.WithError(err).Warnf("minion %s asks the mine (%d more since the last warning)", c.Caller.ID, more)
		}
	} else if err != nil {
		m.log.WithError(err).Debugf("minion %s asks the mine", c.Caller.ID)
	}
	return found, nil
}

// delete takes one function out of a minion's mine.
func (m *mines) delete(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("fun") {
		return data.NewMap(), nil
	}
	fun, ok := c.Load.Text("fun")
	if !m.kept() || !ok {
		return ok, nil
	}
	return m.store.Delete(c.Caller.ID, fun)
}

// flush empties a minion's mine.
func (m *mines) flush(_ context.Context, c *channel.Command) (any, error) {
	if !m.kept() {
		return true, nil
	}
	err := m.store.Flush(c.Caller.ID)
	return err == nil, err
}

package master

import (
	"context"
	"errors"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/master/mine"
)

// mines handles the commands about the mine (salt/daemons/masterapi.py, RemoteFuncs._mine and its
// neighbours). The requester has proved its id.
type mines struct {
	store    *mine.Store
	rules    mine.Rules
	settings *settings
	quiet    *loglimit.Limiter
	log      logrus.FieldLogger
}

// mineCommands returns the commands about the mine.
func mineCommands(b base, minions *fleet) map[string]command {
	m := &mines{store: mine.NewStore(minions.data.bank), settings: b.settings, quiet: b.quiet,
		log: b.log}
	m.rules = mine.FleetRules(minions.known)
	limits := &peerOption{name: "mine_get", quiet: b.quiet, log: b.log}
	m.rules.Allowed = func(id, fun string) bool {
		set, ok := b.settings.saltOptions().Get("mine_get")
		return !ok || set == nil || limits.read(b.settings.config().MineGet).Allow(id, fun)
	}
	return map[string]command{
		"_mine":        {do: m.update, proof: true, effect: true},
		"_mine_get":    {do: m.get, proof: true},
		"_mine_delete": {do: m.delete, proof: true, effect: true},
		"_mine_flush":  {do: m.flush, proof: true, effect: true},
	}
}

// enabled reports whether this master stores mines.
func (m *mines) enabled() bool {
	cfg := m.settings.config()
	return cfg.MinionDataCache || cfg.EnforceMineCache
}

// update stores data in the mine of the minion that sends it. With clear it replaces everything;
// that is the intention of Salt's master, which fails at it.
func (m *mines) update(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("data") {
		return data.NewMap(), nil
	}
	if !m.enabled() {
		return true, nil
	}
	err := m.store.Update(c.Caller.ID, c.Load.Raw("data"), data.Truth(c.Load.Value("clear")))
	if errors.Is(err, mine.ErrTooBig) || errors.Is(err, mine.ErrMalformed) {
		m.refuse(c, err)
		return false, nil
	}
	return err == nil, err
}

// refuse logs, with a rate limit, that the mine data of a minion was refused.
func (m *mines) refuse(c *channel.Command, err error) {
	m.quiet.Warnf(m.log.WithError(err), "mine "+c.Caller.ID,
		"Mine data of minion %s refused", c.Caller.ID)
}

// get replies with results that other minions published.
func (m *mines) get(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("tgt") || !c.Load.Has("fun") {
		return data.NewMap(), nil
	}
	kind, ok := c.Load.Text("tgt_type")
	if !ok {
		kind, _ = c.Load.Text("expr_form") // sent by old minions
	}
	q := mine.Query{Requester: c.Caller.ID, Target: c.Load.Value("tgt"), Kind: kind,
		Fun: c.Load.Value("fun")}
	found, err := m.store.Get(q, m.rules)
	if errors.Is(err, mine.ErrTooMuch) {
		m.quiet.Warnf(m.log.WithError(err), "mine_get "+c.Caller.ID,
			"Mine query of minion %s", c.Caller.ID)
	} else if err != nil {
		m.log.WithError(err).Debugf("Mine query of minion %s", c.Caller.ID)
	}
	return found, nil
}

// delete removes one function from a minion's mine.
func (m *mines) delete(_ context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("fun") {
		return data.NewMap(), nil
	}
	fun, ok := c.Load.Text("fun")
	if !m.enabled() || !ok {
		return ok, nil
	}
	return m.store.Delete(c.Caller.ID, fun)
}

// flush empties a minion's mine.
func (m *mines) flush(_ context.Context, c *channel.Command) (any, error) {
	if !m.enabled() {
		return true, nil
	}
	err := m.store.Flush(c.Caller.ID)
	return err == nil, err
}

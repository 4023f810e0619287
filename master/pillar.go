package master

import (
	"context"
	"errors"
	"sync"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// pillars answers pillar requests of minions (salt/master.py, AESFuncs._pillar).
//
// The grains in a request are stored for targeting, and so is the compiled pillar. A request of
// version 3, or of version 2 with a token, proves its sender. Minions of Salt 3006.0 to 3006.11
// send no token here, so any accepted minion could send such a request in another's name. It is
// answered, since only the rightful minion can decrypt the reply. Its grains are stored only if it
// comes from the host where the minion last proved itself, and never for a minion that has sent
// proof with a pillar request since the master started. An old minion asks for its pillar before it
// sends its first proof, with its start event. So until it has proved itself its grains are stored
// whatever host they come from.
type pillars struct {
	base
	data     *minionData
	presence *presence
	compiler *pillarCompiler

	provers sync.Map // ids of minions that sent proof with a pillar request
}

func (p *pillars) pillar(ctx context.Context, c *channel.Command) (any, error) {
	if pki.ValidID(c.Caller.ID) != nil {
		return channel.Private{Name: "pillar", Value: data.NewMap()}, nil
	}
	r, err := pillarRequest(c)
	switch {
	case err != nil:
		return p.tooMuch(c, err), nil
	case r.Grains == nil:
		return channel.Private{Name: "pillar", Value: data.NewMap()}, nil
	}
	trusted := p.trusted(c)
	pillar, err := p.compile(ctx, c, r, trusted)
	if err != nil {
		return nil, err
	}
	if trusted {
		p.store(c.Caller.ID, r.Grains, pillar)
	}
	return channel.Private{Name: "pillar", Value: pillar}, nil
}

// tooMuch is the reply to a minion that sends more data than allowed. States of the minion fail
// with the reason.
func (p *pillars) tooMuch(c *channel.Command, err error) channel.Private {
	p.quiet.Warnf(p.log.WithError(err), "data of "+requesterOf(c),
		"Pillar request of minion %s refused", c.Caller.ID)
	return channel.Private{
		Name:  "pillar",
		Value: data.NewMap("_errors", []any{"The master refuses the minion's " + err.Error()}),
	}
}

// pillarRequest parses a pillar request. Invalid fields count as absent, as in Salt; invalid grains
// leave Grains nil. The error wraps errTooMuchData.
func pillarRequest(c *channel.Command) (pillar.Request, error) {
	r := pillar.Request{ID: c.Caller.ID}
	for _, field := range []struct {
		name string
		to   **data.Map
	}{{"grains", &r.Grains}, {"pillar_override", &r.Override},
		{"extra_minion_data", &r.ExtraMinionData}, {"ext", &r.Demand}} {
		var err error
		if *field.to, err = mapField(c, field.name, minionDataLimits()); err != nil {
			return r, err
		}
	}
	if r.Grains != nil {
		r.Grains.Set("id", c.Caller.ID)
	}
	var ok bool
	if r.SaltEnv, ok = c.Load.Text("saltenv"); !ok {
		r.SaltEnv, _ = c.Load.Text("env") // of old minions
	}
	r.PillarEnv, _ = c.Load.Text("pillarenv")
	return r, nil
}

// compile compiles a pillar, or returns it from pillar_cache. A request that is not trusted changes
// no cache.
func (p *pillars) compile(
	ctx context.Context, c *channel.Command, r pillar.Request, trusted bool,
) (*data.Map, error) {
	var compiled *data.Map
	var err error
	transport.Aside(ctx, func() {
		if clean, _ := c.Load.Bool("clean_cache"); clean && trusted {
			err = p.compiler.Clear(r.ID)
		}
		if err == nil {
			compiled, err = p.compiler.serve(ctx, r, requesterOf(c), trusted)
		}
	})
	return compiled, err
}

// requesterOf returns the name under which a request counts against limits: the minion's id, and
// its host too if the request is not proved. An impostor thus cannot use up the minion's limits.
func requesterOf(c *channel.Command) string {
	if c.Caller.Proved {
		return c.Caller.ID
	}
	return c.Caller.ID + " at " + transport.HostOf(c.Caller.Remote)
}

// trusted reports whether the data in a request may be stored as its minion's.
func (p *pillars) trusted(c *channel.Command) bool {
	if c.Caller.Proved {
		p.provers.LoadOrStore(c.Caller.ID, nil)
		return true
	}
	_, proves := p.provers.Load(c.Caller.ID)
	if !proves && p.presence.trusts(c) {
		return true
	}
	p.quiet.Warnf(p.log, "grains "+c.Caller.ID,
		"Grains for minion %s came from %s without proof and are not stored",
		c.Caller.ID, transport.HostOf(c.Caller.Remote))
	return false
}

// store saves the grains and the pillar of a minion. The id in the grains is the proved one.
func (p *pillars) store(id string, grains, pillar *data.Map) {
	if !p.settings.config().MinionDataCache {
		return
	}
	err := p.data.save(id, grains, pillar)
	if errors.Is(err, errTooMuchData) {
		p.quiet.Warnf(p.log.WithError(err), "keep "+id,
			"targets by pillar do not match minion %s", id)
		err = p.data.save(id, grains, data.NewMap())
	}
	if err != nil {
		p.log.WithError(err).Errorf("store grains and pillar of minion %s", id)
		return
	}
	if p.settings.config().MinionDataCacheEvents {
		if err := p.bus.Fire(eventbus.JoinTag("minion", "refresh", id),
			data.NewMap("Minion data cache refresh", id)); err != nil {
			p.log.WithError(err).Error("announce new grains")
		}
	}
}

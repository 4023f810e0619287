package master

import (
	"context"
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// pillars answers the requests of minions for their pillar (salt/master.py, AESFuncs._pillar).
//
// What comes with a request, the grains, is kept for targeting, and so is the pillar. A request of version 3, or of version 2
// with a token, proves whose it is. Minions of Salt 3006.0 to 3006.11 send no token here, and any accepted minion could write such
// a request in another's name: it is answered, since only the rightful minion can read the answer, but its grains are
// kept only where it comes from the host that the minion last proved itself from, and never for a minion that has sent
// proof with such a request since the master was started. Such a minion asks for its pillar before it sends its first
// proof, with the event of its start; so while it has proved nothing yet its grains are kept from wherever they come.
type pillars struct {
	data     *minionData
	presence *presence
	quiet    *loglimit.Limiter
	bus      *eventbus.Bus
	settings *settings
	compiler *pillarCompiler
	log      logrus.FieldLogger

	provers sync.Map // ids of minions that sent proof
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
	believed := p.believed(c)
	pillar, err := p.compile(ctx, c, r, believed)
	if err != nil {
		return nil, err
	}
	if believed {
		p.keep(c.Caller.ID, r.Grains, pillar)
	}
	return channel.Private{Name: "pillar", Value: pillar}, nil
}

// tooMuch is the reply to a minion that tells more of itself than is taken: states of the minion fail with the reason.
func (p *pillars) tooMuch(c *channel.Command, err error) channel.Private {
	if more, ok := p.quiet.Allow("told " + requesterOf(c)); ok {
		p.log.WithError(err).Warnf("request of minion %s for its pillar is refused (%d more since the last warning)", c.Caller.ID, more)
	}
	return channel.Private{Name: "pillar", Value: data.NewMap("_errors", []any{"The master refuses the minion's " + err.Error()})}
}

// pillarRequest reads what a minion asks for. What makes no sense in it counts as not there, as in Salt; Grains are nil then.
// The error wraps errToldTooMuch.
func pillarRequest(c *channel.Command) (pillar.Request, error) {
	r := pillar.Request{ID: c.Caller.ID}
	for _, field := range []struct {
		name string
		to   **data.Map
	}{{"grains", &r.Grains}, {"pillar_override", &r.Override}, {"extra_minion_data", &r.ExtraMinionData}, {"ext", &r.Demand}} {
		var err error
		if *field.to, err = told(c, field.name, toldLimits()); err != nil {
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

// compile compiles a pillar, or takes it out of pillar_cache. What an unproved request says goes into no cache.
func (p *pillars) compile(ctx context.Context, c *channel.Command, r pillar.Request, believed bool) (*data.Map, error) {
	var compiled *data.Map
	var err error
	transport.Aside(ctx, func() {
		if clean, _ := c.Load.Bool("clean_cache"); clean && believed {
			err = p.compiler.Clear(r.ID)
		}
		if err == nil {
			compiled, err = p.compiler.serve(ctx, r, requesterOf(c), believed)
		}
	})
	return compiled, err
}

// requesterOf names who asks: the minion, and its host too where nothing proves that it is the minion. Somebody who uses a minion's
// name then cannot use up what is allowed to it.
func requesterOf(c *channel.Command) string {
	if c.Caller.Proved {
		return c.Caller.ID
	}
	return c.Caller.ID + " at " + transport.HostOf(c.Caller.Remote)
}

// believed reports whether what a request says of its minion may be kept.
func (p *pillars) believed(c *channel.Command) bool {
	if c.Caller.Proved {
		p.provers.LoadOrStore(c.Caller.ID, nil)
		return true
	}
	_, proves := p.provers.Load(c.Caller.ID)
	if !proves && p.presence.believes(c) {
		return true
	}
	if more, ok := p.quiet.Allow("grains " + c.Caller.ID); ok {
		p.log.Warnf("grains said to be of minion %s came from %s without proof and are not kept (%d more since the last warning)",
			c.Caller.ID, transport.HostOf(c.Caller.Remote), more)
	}
	return false
}

// keep stores what the minion told of itself, and its pillar. The id of the grains is the one that was proved.
func (p *pillars) keep(id string, grains, pillar *data.Map) {
	if !p.settings.now().MinionDataCache {
		return
	}
	err := p.data.save(id, grains, pillar)
	if errors.Is(err, errToldTooMuch) {
		if more, ok := p.quiet.Allow("keep " + id); ok {
			p.log.WithError(err).Warnf("targets by pillar do not match minion %s (%d more since the last warning)", id, more)
		}
		err = p.data.save(id, grains, data.NewMap())
	}
	if err != nil {
		p.log.WithError(err).Errorf("grains and pillar of minion %s cannot be kept", id)
		return
	}
	if p.settings.now().MinionDataCacheEvents {
		if err := p.bus.Fire(eventbus.JoinTag("minion", "refresh", id), data.NewMap("Minion data cache refresh", id)); err != nil {
			p.log.WithError(err).Error("announce new grains")
		}
	}
}

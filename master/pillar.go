package master

import (
	"context"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
)

// pillars answers the requests of minions for their pillar (salt/master.py, AESFuncs._pillar).
//
// The pillar of a master without pillar files is what the minion itself asked for: pillar_override.
//
// What comes with a request, the grains, is kept for targeting. A request of version 3, or of version 2 with a token,
// proves whose it is. Minions of Salt 3006.0 to 3006.11 send no token here, and any accepted minion could write such a
// request in another's name: it is answered, since only the rightful minion can read the answer, but its grains are
// kept only where it comes from the host that the minion last proved itself from, and never for a minion that has sent
// proof with such a request since the master was started. Such a minion asks for its pillar before it sends its first
// proof, with the event of its start; so while it has proved nothing yet its grains are kept from wherever they come.
type pillars struct {
	data     *minionData
	presence *presence
	quiet    *quiet
	bus      *eventbus.Bus
	settings *settings
	log      logrus.FieldLogger

	provers sync.Map // ids of minions that sent proof
}

func (p *pillars) pillar(_ context.Context, c *channel.Command) (any, error) {
	id := c.Caller.ID
	grains, ok := c.Load.Value("grains").(*data.Map)
	if !ok || pki.ValidID(id) != nil {
		return channel.Private{Name: "pillar", Value: data.NewMap()}, nil
	}
	pillar, _ := c.Load.Value("pillar_override").(*data.Map)
	if pillar == nil {
		pillar = data.NewMap()
	}
	if p.believed(c) {
		p.keep(id, grains, pillar)
	}
	return channel.Private{Name: "pillar", Value: pillar}, nil
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
	if more, ok := p.quiet.tell("grains " + c.Caller.ID); ok {
		p.log.Warnf("grains said to be of minion %s came from %s without proof and are not kept (%d more since the last warning)",
			c.Caller.ID, hostOf(c.Caller.Remote), more)
	}
	return false
}

// keep stores what the minion told of itself. The id of the grains is the one that was proved.
func (p *pillars) keep(id string, grains, pillar *data.Map) {
	if !p.settings.now().MinionDataCache {
		return
	}
	grains.Set("id", id)
	if err := p.data.save(id, grains, pillar); err != nil {
		p.log.WithError(err).Error("keep grains and pillar")
		return
	}
	if p.settings.now().MinionDataCacheEvents {
		if err := p.bus.Fire(eventbus.JoinTag("minion", "refresh", id), data.NewMap("Minion data cache refresh", id)); err != nil {
			p.log.WithError(err).Error("announce new grains")
		}
	}
}

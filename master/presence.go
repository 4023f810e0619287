package master

import (
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// presence knows which minions are connected: those whose last proved request came from an address that holds a
// connection to the publish port now.
type presence struct {
	peers    func() []net.Addr // connections of the publish port
	settings *settings

	mu   sync.Mutex
	seen map[string]string // minion → host of its last proved request
	last []string          // connected at the last announcement
}

func newPresence(peers func() []net.Addr, s *settings) *presence {
	return &presence{peers: peers, settings: s, seen: map[string]string{}}
}

// note remembers where a proved request of minion id came from.
func (p *presence) note(id string, from net.Addr) {
	host := hostOf(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[id] = host
}

// cameFrom reports whether the last proved request of minion id came from the host of an address.
func (p *presence) cameFrom(id string, from net.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	host, ok := p.seen[id]
	return ok && host == hostOf(from)
}

// believes reports whether a command may be taken as what its minion says: it was proved, or came from the host where
// the minion last proved itself, or the minion has not proved itself at all since the master was started. Commands of
// version 3 are proved always. Minions of Salt 3006.0 to 3006.11 speak version 2 and send proof with their events alone,
// the first of which follows their first request for pillar.
func (p *presence) believes(c *channel.Command) bool {
	if c.Caller.Proved {
		return true
	}
	if c.Version >= channel.Version {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host, ok := p.seen[c.Caller.ID]
	return !ok || host == hostOf(c.Caller.Remote)
}

// prune drops the minions that keep does not name.
func (p *presence) prune(keep func(id string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.seen {
		if !keep(id) {
			delete(p.seen, id)
		}
	}
}

// connected returns the ids of the minions that are connected, sorted.
func (p *presence) connected() []string {
	hosts := map[string]bool{}
	for _, a := range p.peers() {
		hosts[hostOf(a)] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := []string{}
	for id, host := range p.seen {
		if hosts[host] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// announce fires who is connected, and who came and went since the last time (salt/master.py, handle_presence).
func (p *presence) announce(bus *eventbus.Bus, log logrus.FieldLogger) {
	if !p.settings.now().PresenceEvents {
		return
	}
	now := p.connected()
	came, went := without(now, p.last), without(p.last, now)
	p.last = now
	var err error
	if len(came)+len(went) > 0 {
		err = bus.Fire(eventbus.Tagify("presence", "change"), data.NewMap("new", texts(came), "lost", texts(went)))
	}
	if err := errors.Join(err, bus.Fire(eventbus.Tagify("presence", "present"), data.NewMap("present", texts(now)))); err != nil {
		log.WithError(err).Error("announce who is connected")
	}
}

// without returns what of a is not in b; both are sorted.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(id string) bool {
		_, found := slices.BinarySearch(b, id)
		return found
	})
}

package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	presencefile "github.com/brineproject/brine/presence"
	"github.com/brineproject/brine/transport"
)

// presence knows which minions hold a connection to the publish port.
//
// A connection of the tcp transport has proved whose it is. One of zeromq is known by its address alone, and often by a
// topic that is made from an id, which our minions and those with zmq_filtering subscribe to. Anybody can subscribe to
// it: it is believed where it comes from the host that the minion last proved itself from. What is left are connections
// without a name. They are given to the minions without a connection that proved themselves from the same host; where
// these are more than there are connections, as behind one address of a router, those count that were heard of last.
//
// Before a minion has proved itself since the master's start it counts as connected if the file of the run before says
// that it was, and something is connected from the same host.
type presence struct {
	list     func() []transport.Peer
	changes  func() uint64 // changes with what list returns; nil where that is not known
	settings *settings
	now      func() time.Time
	begun    time.Time                    // when the master started
	twice    func(id, host, other string) // told of minions that are at two hosts; nil is not told

	mu      sync.Mutex
	seen    map[string]*sighting
	names   map[string]string // topic → minion, of those seen or told of
	before  map[string]string // minion → host, of the run before
	version int               // counts changes of seen
	cache   *picture
	awaited map[string]bool   // minions whose start waits for their connection
	last    []string          // connected at the last announcement
	written map[string]string // what the file says
}

// A sighting is what is known of a minion that has proved itself since the start.
type sighting struct {
	host  string // of its last proved request
	at    time.Time
	named time.Time // when a connection was last seen that bears its name
	left  string    // the host before
	moved time.Time // when it came from there
	told  bool      // that it is at two hosts
}

// A picture is who is connected.
type picture struct {
	ids     []string // sorted
	hosts   map[string]string
	version int
	changes uint64
	strange bool // some connections are nobody's
	unsure  bool // at some address there were not as many minions as connections without a name
	taken   time.Time
}

// How long a picture may be used that may be wrong without a change of connections.
const pictureLife = time.Second

// unnamedAfter is how long a minion whose connections used to bear its name is not looked for among those without.
const unnamedAfter = 30 * time.Second

// newPresence makes the part of a port. A port that is no PeerLister is asked each time.
func newPresence(port PublishPort, before map[string]string, s *settings, now func() time.Time) *presence {
	p := &presence{settings: s, now: now, begun: now(), seen: map[string]*sighting{}, names: map[string]string{}, before: before, awaited: map[string]bool{}}
	for id := range before {
		p.names[channel.Topic(id)] = id
	}
	if l, ok := port.(transport.PeerLister); ok {
		p.list, p.changes = l.PeerList, l.PeerChanges
		return p
	}
	p.list = func() []transport.Peer {
		addrs := port.PeerAddrs()
		list := make([]transport.Peer, len(addrs))
		for i, a := range addrs {
			list[i] = transport.Peer{Addr: a, Topics: []string{""}}
		}
		return list
	}
	return p
}

// earlier returns who was connected when the last master with this cachedir wrote its file. What is wrong with the file
// costs what it says alone.
func earlier(cachedir string, log logrus.FieldLogger) map[string]string {
	hosts, err := presencefile.Last(cachedir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.WithError(err).Warn("who was connected before the start")
	}
	return hosts
}

// note remembers where a proved request of minion id came from, and tells when there are two such minions.
func (p *presence) note(id string, from net.Addr) {
	host := hostOf(from)
	if other := p.noted(id, host); other != "" && p.twice != nil {
		p.twice(id, host, other)
	}
}

// twoPlaces is how soon a minion that has moved does not come back to where it was.
const twoPlaces = 5 * time.Minute

// noted remembers where minion id is, and returns where another one of that id is: who has come to another host and is back at the
// first soon after is two, as of a host that was copied with its keys.
func (p *presence) noted(id, host string) (other string) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[id]
	if s == nil {
		s = &sighting{}
		p.seen[id] = s
		p.names[channel.Topic(id)] = id
	}
	if s.host != host {
		if host == s.left && now.Sub(s.moved) < twoPlaces && !s.told {
			other, s.told = s.host, true
		}
		s.left, s.moved, s.host = s.host, now, host
		p.version++
	}
	s.at = now
	return other
}

// host returns from where minion id was last heard, "" where it was not.
func (p *presence) host(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.seen[id]; s != nil {
		return s.host
	}
	return p.before[id]
}

// cameFrom reports whether the last proved request of minion id came from the host of an address.
func (p *presence) cameFrom(id string, from net.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.seen[id]
	return ok && s.host == hostOf(from)
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
	s, ok := p.seen[c.Caller.ID]
	return !ok || s.host == hostOf(c.Caller.Remote)
}

// prune drops the minions that keep does not name.
func (p *presence) prune(keep func(id string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for topic, id := range p.names {
		if !keep(id) {
			delete(p.names, topic)
			delete(p.seen, id)
			delete(p.before, id)
			p.version++
		}
	}
}

// connected returns the ids of the minions that are connected, sorted. The list must not be changed.
func (p *presence) connected() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look().ids
}

// count returns the number of minions that are connected.
func (p *presence) count() int { return len(p.connected()) }

// proved reports whether a minion has proved itself since the master's start.
func (p *presence) proved(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[id] != nil
}

// strangers reports whether there are connections that are nobody's, as far as is known.
func (p *presence) strangers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look().strange
}

// absent returns those of ids that are not connected, in their order.
func (p *presence) absent(ids []string) (away []string) {
	p.mu.Lock()
	hosts := p.look().hosts
	p.mu.Unlock()
	for _, id := range ids {
		if _, here := hosts[id]; !here {
			away = append(away, id)
		}
	}
	return away
}

// returnTime is for how long after its start the master expects the minions back that were connected to the one before.
const returnTime = 15 * time.Second

// returning returns those of ids that are not connected yet, and are expected any moment after a restart of the master.
func (p *presence) returning(ids []string) []string {
	if p.now().Sub(p.begun).Abs() >= returnTime {
		return nil
	}
	return slices.DeleteFunc(p.absent(ids), func(id string) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, before := p.before[id]
		return !before
	})
}

// awaitReturn waits until those of ids that are expected back after a restart of the master are connected, or their time is over.
func (p *presence) awaitReturn(ctx context.Context, ids []string) error {
	look := time.NewTicker(returnLook)
	defer look.Stop()
	for len(p.returning(ids)) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// returnLook is how often who is expected back is looked for.
const returnLook = 250 * time.Millisecond

// gone returns those of ids that surely have no connection, in their order: none where some connection is nobody's, or may be that of one
// of several minions at its address.
func (p *presence) gone(ids []string) []string {
	if p.changes == nil {
		return nil
	}
	p.mu.Lock()
	pic := p.look()
	p.mu.Unlock()
	if pic.strange || pic.unsure {
		return nil
	}
	return p.absent(ids)
}

// How long the announcement of a minion's start may wait for its connection, and how often that is looked for.
const (
	arrivalTime = 2 * time.Second
	arrivalLook = 20 * time.Millisecond
)

// await returns when minion id, which announces its start, is connected, and after a moment anyway. Who hears of the start may
// give orders at once, but the minion sends it by another connection than the one that the orders come by, and over tcp
// nothing tells it when that is in use.
func (p *presence) await(ctx context.Context, id string) {
	if p.arrived(id) || !p.expect(id, true) {
		return
	}
	defer p.expect(id, false)
	transport.Aside(ctx, func() {
		end, look := time.NewTimer(arrivalTime), time.NewTicker(arrivalLook)
		defer end.Stop()
		defer look.Stop()
		for !p.arrived(id) {
			select {
			case <-look.C:
				continue
			case <-end.C:
			case <-ctx.Done():
			}
			return
		}
	})
}

// expect notes that somebody waits for minion id, or does no more. It returns false if that was so before: a minion has one
// start at a time.
func (p *presence) expect(id string, waits bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited[id] == waits {
		return false
	}
	if waits {
		p.awaited[id] = true
	} else {
		delete(p.awaited, id)
	}
	return true
}

// arrived reports whether minion id is connected, by a picture of now or one that is hardly older: many may start at once.
func (p *presence) arrived(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pic := p.cache
	if pic == nil || p.now().Sub(pic.taken).Abs() >= arrivalLook {
		pic = p.look()
	}
	_, here := pic.hosts[id]
	return here
}

// look returns who is connected now. The caller holds mu; what is returned is never changed.
func (p *presence) look() *picture {
	now, changes := p.now(), uint64(0)
	if p.changes != nil {
		changes = p.changes()
		c := p.cache
		if c != nil && c.version == p.version && c.changes == changes && (!c.unsure || now.Sub(c.taken).Abs() < pictureLife) {
			return c
		}
	}
	p.cache = p.draw(now)
	p.cache.changes = changes
	return p.cache
}

// draw finds out who is connected.
func (p *presence) draw(now time.Time) *picture {
	pic := &picture{hosts: map[string]string{}, version: p.version, taken: now}
	nameless := map[string]int{} // by host
	for _, peer := range p.list() {
		host := hostOf(peer.Addr)
		id, named := peer.ID, peer.ID != ""
		if !named {
			id, named = p.nameOf(peer.Topics, host, now)
		}
		switch {
		case named && id != "":
			pic.hosts[id] = host
		case named:
			pic.strange = true
		case !named && len(peer.Topics) > 0:
			nameless[host]++
		}
	}
	for host, n := range nameless {
		candidates := p.nameless(host, pic.hosts)
		pic.unsure = pic.unsure || len(candidates) != n
		pic.strange = pic.strange || len(candidates) < n
		for _, id := range candidates[:min(n, len(candidates))] {
			pic.hosts[id] = host
		}
	}
	pic.ids = slices.Sorted(maps.Keys(pic.hosts))
	return pic
}

// nameOf returns whose connection it is by what it subscribed to. A name that is not believed is named and "".
func (p *presence) nameOf(topics []string, host string, now time.Time) (id string, named bool) {
	for _, topic := range topics {
		id, known := p.names[topic]
		if !known {
			named = named || isTopic(topic)
			continue
		}
		if s := p.seen[id]; s != nil && s.host == host {
			s.named = now
			return id, true
		} else if s == nil && p.before[id] == host {
			return id, true
		}
		named = true
	}
	return "", named
}

// isTopic reports whether a topic has the form of those that are made from ids.
func isTopic(t string) bool {
	return len(t) == len(channel.Topic("")) && !slices.ContainsFunc([]byte(t), func(c byte) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	})
}

// nameless returns who may have a connection from host that bears no name, the one that was heard of last first.
func (p *presence) nameless(host string, have map[string]string) (ids []string) {
	for id, s := range p.seen {
		if _, connected := have[id]; !connected && s.host == host && (s.named.IsZero() || s.at.Sub(s.named) > unnamedAfter) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return p.seen[b].at.Compare(p.seen[a].at) })
	var told []string
	for id, h := range p.before {
		if _, connected := have[id]; !connected && h == host && p.seen[id] == nil {
			told = append(told, id)
		}
	}
	slices.Sort(told)
	return append(ids, told...)
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
		err = bus.Fire(eventbus.Tagify("presence", "change"), data.NewMap("new", data.Values(came), "lost", data.Values(went)))
	}
	if err := errors.Join(err, bus.Fire(eventbus.Tagify("presence", "present"), data.NewMap("present", data.Values(now)))); err != nil {
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

// tell writes the file that other programs read, when it would say something else than before.
func (p *presence) tell(_ context.Context) error {
	p.mu.Lock()
	hosts := p.look().hosts
	p.mu.Unlock()
	if p.written != nil && maps.Equal(hosts, p.written) {
		return nil
	}
	if err := presencefile.Write(p.settings.now().CacheDir, hosts); err != nil {
		return fmt.Errorf("presence: %w", err)
	}
	p.written = hosts
	return nil
}

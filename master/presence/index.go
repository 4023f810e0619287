package presence

import (
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/transport"
)

// An Index knows which minions hold a connection to the publish port of a master. It is told of each connection that
// comes and goes and of each request that proves its minion; what either costs does not grow with their number.
//
// A connection of the tcp transport has proved whose it is. One of zeromq is known by its address alone, and often by a
// topic that is made from an id, which our minions and those with zmq_filtering subscribe to. Anybody can subscribe to
// it: it is believed where it comes from the host that the minion last proved itself from. What is left are connections
// without a name. They are given to the minions without a connection that proved themselves from the same host; where
// these are more than there are connections, as behind one address of a router, those count that were heard of last.
//
// Before a minion has proved itself since the master's start it counts as connected if it was so at the end of the run
// before, and something is connected from the same host.
//
// Several goroutines may use an Index.
type Index struct {
	now func() time.Time

	mu       sync.Mutex
	minions  map[string]*minion
	named    map[string]*minion // by the topic made from the id, of those that were heard of
	bearers  map[string]links   // connections by those of their topics that look like names
	ties     map[*transport.Peer]tie
	places   map[string]*place
	awaited  map[string]chan struct{} // closed when the minion is surely connected
	count    int                      // minions that are connected
	strange  int                      // connections with a name that is nobody's, and places with such without a name
	unsure   int                      // places
	version  uint64                   // of who is connected
	sorted   []string                 // who is connected
	sortedAt uint64                   // version of sorted
}

// links are connections.
type links map[*transport.Peer]struct{}

// A tie is whose connection one is.
type tie struct {
	host    string
	owner   *minion // who has proved it, or whose name it bears
	strange bool    // it bears a name, which is nobody's
	unnamed bool    // it is one of its host's place
}

// A minion is one that has proved itself, that was connected in the run before, or that has a connection.
type minion struct {
	id     string
	topic  string // that its connections may bear
	before string // host in the run before; "" is none
	proved bool   // since the start
	host   string // of its last proved request
	at     time.Time
	left   string    // the host before
	moved  time.Time // when it came from there
	told   bool      // that it is at two hosts
	links  links     // that it has proved or that bear its name
	lost   time.Time // when the last of them went, since it proved itself

	place      *place // where it waits for a connection without a name
	prev, next *minion
	given      bool // it has such a connection
}

// unnamedAfter is how long a minion whose connections used to bear its name is not looked for among those without.
const unnamedAfter = 30 * time.Second

// NewIndex returns an index without connections. Before has the minions that were connected in the master's run before,
// each with its host.
func NewIndex(before map[string]string, now func() time.Time) *Index {
	x := &Index{now: now, minions: map[string]*minion{}, named: map[string]*minion{}, bearers: map[string]links{},
		ties: map[*transport.Peer]tie{}, places: map[string]*place{}, awaited: map[string]chan struct{}{}}
	ids := make([]string, 0, len(before))
	for id := range before {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		m := x.minion(id)
		m.before = before[id]
		x.name(m)
		x.line(m, false)
	}
	return x
}

// Watch takes what a publisher tells of a connection; it is a [transport.PeerWatch].
func (x *Index) Watch(was, is *transport.Peer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	host := ""
	if was != nil {
		host = x.ties[was].host
		x.untie(was)
		for _, topic := range was.Topics {
			x.unbear(topic, was)
		}
	}
	if is == nil {
		return
	}
	if was == nil {
		host = transport.HostOf(is.Addr)
	}
	for _, topic := range is.Topics {
		x.bear(topic, is)
	}
	x.tie(is, host)
}

// twoPlaces is how soon a minion that has moved does not come back to where it was.
const twoPlaces = 5 * time.Minute

// Note remembers that minion id has proved itself from a host. It returns where another minion of that id is: who has
// come to another host and is back at the first soon after is two, as of a host that was copied with its keys. That is
// told once.
func (x *Index) Note(id, host string) (other string) {
	now := x.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.minion(id)
	m.at = now
	if m.proved && m.host == host {
		x.line(m, true)
		return ""
	}
	if host == m.left && now.Sub(m.moved) < twoPlaces && !m.told && m.proved {
		other, m.told = m.host, true
	}
	first := !m.proved
	m.left, m.moved, m.host, m.proved = m.host, now, host, true
	x.name(m)
	if first {
		m.lost = time.Time{} // what connections it had before tells nothing of those to come
	}
	x.line(m, true)
	return other
}

// Forget drops what is known of the minions that keep does not name. Their connections become nobody's.
func (x *Index) Forget(keep func(id string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for topic, m := range x.named {
		if keep(m.id) {
			continue
		}
		delete(x.named, topic)
		*m = minion{id: m.id, links: m.links, place: m.place, prev: m.prev, next: m.next, given: m.given}
		x.retie(topic)
		x.line(m, false)
		x.tidy(m)
	}
}

// Host returns from where minion id was last heard, or where it was connected from in the run before; "" is neither.
func (x *Index) Host(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.minions[id]; m != nil {
		return m.home()
	}
	return ""
}

// Proved returns the host of the last proved request of minion id, and whether there was one since the start.
func (x *Index) Proved(id string) (host string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.minions[id]; m != nil {
		return m.host, m.proved
	}
	return "", false
}

// Before reports whether minion id was connected in the run before.
func (x *Index) Before(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.minions[id]
	return m != nil && m.before != ""
}

// Connected returns the ids of the minions that are connected, sorted. The list must not be changed.
func (x *Index) Connected() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sorted != nil && x.sortedAt == x.version {
		return x.sorted
	}
	x.sorted, x.sortedAt = make([]string, 0, x.count), x.version
	for id, m := range x.minions {
		if m.connected() {
			x.sorted = append(x.sorted, id)
		}
	}
	slices.Sort(x.sorted)
	return x.sorted
}

// Count returns how many minions are connected.
func (x *Index) Count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count
}

// Hosts returns the minions that are connected, each with the host that its connection comes from, and a number that
// changes with them.
func (x *Index) Hosts() (hosts map[string]string, version uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hosts = make(map[string]string, x.count)
	for id, m := range x.minions {
		if m.given {
			hosts[id] = m.home()
		}
		for link := range m.links {
			hosts[id] = x.ties[link].host
		}
	}
	return hosts, x.version
}

// Version returns the number that changes with what Connected and Hosts return.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// Absent returns those of ids that are not connected, in their order.
func (x *Index) Absent(ids []string) (away []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if m := x.minions[id]; m == nil || !m.connected() {
			away = append(away, id)
		}
	}
	return away
}

// Strangers reports whether there are connections that are nobody's, as far as is known.
func (x *Index) Strangers() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.strange > 0
}

// Sure reports whether each connection is known to be somebody's, and no connection without a name may be that of one
// of several minions at its host.
func (x *Index) Sure() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.strange == 0 && x.unsure == 0
}

// Await returns a channel that is closed when minion id is surely connected, and what to call when nobody waits for that
// any more. Both are nil where the minion is, and where somebody waits for it already. A connection without a name may be
// that of another minion as long as there are fewer of them than minions that have none of their own at the host.
func (x *Index) Await(id string) (connected <-chan struct{}, done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.minions[id]; m != nil && m.surely() || x.awaited[id] != nil {
		return nil, nil
	}
	c := make(chan struct{})
	x.awaited[id] = c
	if m := x.minions[id]; m != nil && m.place != nil {
		x.await(m.place, m)
	}
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.awaited[id] == c {
			x.unawait(id)
		}
	}
}

// await notes at its place that a minion is waited for, if it is.
func (x *Index) await(p *place, m *minion) {
	if x.awaited[m.id] != nil {
		p.awaited[m] = struct{}{}
	}
}

// unawait forgets that a minion is waited for.
func (x *Index) unawait(id string) {
	delete(x.awaited, id)
	if m := x.minions[id]; m != nil && m.place != nil {
		delete(m.place.awaited, m)
	}
}

// arrived tells who waits for a minion, when it is surely connected.
func (x *Index) arrived(m *minion) {
	if c := x.awaited[m.id]; c != nil && m.surely() {
		x.unawait(m.id)
		close(c)
	}
}

// full tells who waits for the minions at a place, when there is a connection for each.
func (x *Index) full(p *place) {
	if p.conns < p.waits {
		return
	}
	for m := range p.awaited {
		x.arrived(m)
	}
}

// minion returns what is known of a minion, which may be nothing yet.
func (x *Index) minion(id string) *minion {
	m := x.minions[id]
	if m == nil {
		m = &minion{id: id}
		x.minions[id] = m
	}
	return m
}

// name lets connections from the host of a minion bear its name.
func (x *Index) name(m *minion) {
	if m.topic == "" {
		m.topic = channel.Topic(m.id)
	}
	x.named[m.topic] = m
	x.retie(m.topic)
}

// tidy drops a minion of which nothing is known.
func (x *Index) tidy(m *minion) {
	if !m.proved && m.before == "" && len(m.links) == 0 && x.minions[m.id] == m {
		delete(x.minions, m.id)
	}
}

func (x *Index) bear(topic string, c *transport.Peer) {
	if !isTopic(topic) {
		return
	}
	if x.bearers[topic] == nil {
		x.bearers[topic] = links{}
	}
	x.bearers[topic][c] = struct{}{}
}

func (x *Index) unbear(topic string, c *transport.Peer) {
	delete(x.bearers[topic], c)
	if len(x.bearers[topic]) == 0 {
		delete(x.bearers, topic)
	}
}

// isTopic reports whether a topic has the form of those that are made from ids.
func isTopic(t string) bool {
	return len(t) == len(channel.Topic("")) && !slices.ContainsFunc([]byte(t), func(c byte) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	})
}

// retie finds out anew whose the connections are that bear a topic.
func (x *Index) retie(topic string) {
	for c := range x.bearers[topic] {
		host := x.ties[c].host
		x.untie(c)
		x.tie(c, host)
	}
}

// tie finds out whose a connection is.
func (x *Index) tie(c *transport.Peer, host string) {
	t := tie{host: host}
	if c.ID != "" {
		t.owner = x.minion(c.ID)
	} else {
		t.owner, t.strange = x.bearing(c.Topics, host)
	}
	t.unnamed = t.owner == nil && !t.strange && len(c.Topics) > 0
	x.ties[c] = t
	switch {
	case t.owner != nil:
		x.link(t.owner, c)
	case t.strange:
		x.strange++
	case t.unnamed:
		x.at(host, func(p *place) { p.connect(1) })
	}
}

// bearing returns whose name a connection bears by what it subscribed to, or that it is a name that is not believed.
func (x *Index) bearing(topics []string, host string) (m *minion, strange bool) {
	for _, topic := range topics {
		if m := x.named[topic]; m != nil && m.home() == host {
			return m, false
		}
		strange = strange || isTopic(topic)
	}
	return nil, strange
}

// untie undoes tie.
func (x *Index) untie(c *transport.Peer) {
	t := x.ties[c]
	delete(x.ties, c)
	switch {
	case t.owner != nil:
		x.unlink(t.owner, c)
	case t.strange:
		x.strange--
	case t.unnamed:
		x.at(t.host, func(p *place) { p.connect(-1) })
	}
}

// link gives a minion a connection of its own.
func (x *Index) link(m *minion, c *transport.Peer) {
	was := m.connected()
	if m.links == nil {
		m.links = links{}
	}
	m.links[c] = struct{}{}
	x.line(m, false)
	x.turned(m, was)
	x.arrived(m)
}

func (x *Index) unlink(m *minion, c *transport.Peer) {
	was := m.connected()
	delete(m.links, c)
	if len(m.links) == 0 {
		m.links, m.lost = nil, x.now()
	}
	x.turned(m, was)
	x.line(m, false)
	x.tidy(m)
}

// line lets a minion wait for a connection without a name at its host, or not: as it has to.
func (x *Index) line(m *minion, heard bool) {
	to := ""
	if m.unnamed() {
		to = m.home()
	}
	from := m.place
	switch {
	case from == nil && to == "":
		return
	case from != nil && to != "" && from == x.places[to]:
		if heard {
			from.hear(m)
		}
		return
	case from != nil:
		x.at(from.host, func(p *place) {
			delete(p.awaited, m)
			p.leave(m)
		})
	}
	if to != "" {
		x.at(to, func(p *place) {
			x.await(p, m)
			p.enter(m, m.proved)
		})
	}
}

// at changes the place of a host.
func (x *Index) at(host string, change func(p *place)) {
	p := x.places[host]
	if p == nil {
		p = &place{host: host, turn: x.turn, awaited: map[*minion]struct{}{}}
		x.places[host] = p
	}
	x.weigh(p, -1)
	change(p)
	x.weigh(p, 1)
	x.full(p)
	if p.empty() {
		delete(x.places, host)
	}
}

// weigh counts a place among those that leave something unknown, or takes it from them.
func (x *Index) weigh(p *place, by int) {
	if p.unsure() {
		x.unsure += by
	}
	if p.strange() {
		x.strange += by
	}
}

// turn gives a minion a connection without a name, or takes it.
func (x *Index) turn(m *minion, given bool) {
	was := m.connected()
	m.given = given
	x.turned(m, was)
}

// turned counts a minion that came or went.
func (x *Index) turned(m *minion, was bool) {
	is := m.connected()
	if is == was {
		return
	}
	x.version++
	if !is {
		x.count--
		return
	}
	x.count++
}

func (m *minion) connected() bool { return m.given || len(m.links) > 0 }

// surely reports whether a minion is connected, and not only may be by a connection of another at its host.
func (m *minion) surely() bool {
	return len(m.links) > 0 || m.given && m.place.conns >= m.place.waits
}

// home returns where a minion was heard from.
func (m *minion) home() string {
	if m.proved {
		return m.host
	}
	return m.before
}

// unnamed reports whether a minion may have a connection that bears no name.
func (m *minion) unnamed() bool {
	return len(m.links) == 0 && (!m.proved || m.lost.IsZero() || m.at.Sub(m.lost) > unnamedAfter)
}

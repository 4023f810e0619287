package presence

import (
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/transport"
)

// An Index tracks which minions are connected to the publish port of a master. It is updated for
// each connection that opens or closes and each request that proves its minion. The cost of an
// update does not grow with the number of minions.
//
// A connection of the tcp transport has proved its minion. One of zeromq is identified by its
// address, and often by a topic derived from the minion's id: Brine minions and those with
// zmq_filtering subscribe to it. Anybody can subscribe to such a topic, so it is trusted only if
// the connection comes from the host where the minion last proved itself. The other connections
// have no name. They are assigned to the minions without a connection that proved themselves from
// the same host. If there are more such minions than connections, as behind a router's address,
// those heard from most recently count as connected.
//
// Until a minion has proved itself after the start of the master, it counts as connected if it was
// connected at the end of the previous run and there is a connection from the same host.
type Index struct {
	now func() time.Time

	mu          sync.Mutex
	minions     map[string]*minion
	named       map[string]*minion // known minions, by the topic derived from their id
	byTopic     map[string]links   // connections by their topics in the form of names
	assignments map[*transport.Peer]assignment
	places      map[string]*place
	awaited     map[string]chan struct{} // closed when the minion is surely connected
	count       int                      // connected minions
	// connections with an untrusted name, and places with connections of no known minion
	strange  int
	unsure   int      // places for which unsure is true
	version  uint64   // changes with the set of connected minions
	sorted   []string // cached result of Connected
	sortedAt uint64   // version of sorted
}

// links is a set of connections.
type links map[*transport.Peer]struct{}

// An assignment is the known owner of a connection.
type assignment struct {
	host    string
	owner   *minion // the minion that proved it, or whose name it has
	strange bool    // it has a name that is not trusted
	unnamed bool    // it is counted in the place of its host
}

// A minion is a minion that has proved itself, was connected in the previous run, or has a
// connection.
type minion struct {
	id       string
	topic    string    // its name as a topic
	before   string    // host in the previous run, or ""
	proved   bool      // since the master started
	host     string    // host of its last proved request
	at       time.Time // time of that request
	left     string    // the previous host
	moved    time.Time // when it moved from there
	reported bool      // Note has reported that it is on two hosts
	links    links     // connections that it has proved or that have its name
	lost     time.Time // when the last of these closed, since it proved itself

	place      *place // list in which it waits for a connection without a name, or nil
	prev, next *minion
	given      bool // it has such a connection assigned

	since time.Time // when it became connected
	gone  time.Time // when it was last no longer connected
}

// A Connection is how a connected minion is connected.
type Connection struct {
	Host  string    // where its connection comes from
	Since time.Time // when it became connected; zero if that is unknown
}

// pause is how soon after the end of a connection another one continues it: Since then stays. A
// connection that gets another name, or belongs to another minion for a moment, does not count as
// new.
const pause = time.Second

// unnamedAfter is how long a minion whose connections had its name gets no connection without a
// name.
const unnamedAfter = 30 * time.Second

// NewIndex returns an index without connections. before has the minions that were connected in the
// previous run, with their hosts.
func NewIndex(before map[string]string, now func() time.Time) *Index {
	x := &Index{now: now, minions: map[string]*minion{}, named: map[string]*minion{},
		byTopic: map[string]links{}, assignments: map[*transport.Peer]assignment{},
		places:  map[string]*place{},
		awaited: map[string]chan struct{}{}}
	ids := make([]string, 0, len(before))
	for id := range before {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		m := x.minion(id)
		m.before = before[id]
		x.name(m)
		x.updatePlace(m, false)
	}
	return x
}

// Watch handles a change of a connection; it is a [transport.PeerWatch].
func (x *Index) Watch(was, is *transport.Peer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	host := ""
	if was != nil {
		host = x.assignments[was].host
		x.unassign(was)
		for _, topic := range was.Topics {
			x.removeTopic(topic, was)
		}
	}
	if is == nil {
		return
	}
	if was == nil {
		host = transport.HostOf(is.Addr)
	}
	for _, topic := range is.Topics {
		x.addTopic(topic, is)
	}
	x.assign(is, host)
}

// duplicateTime is how soon a return to the previous host shows that there are two minions with one
// id.
const duplicateTime = 5 * time.Minute

// Note records that minion id has proved itself from a host. If the minion returns to its previous
// host soon after it has moved, there are probably two, as after copying a host with its keys. Note
// then returns the other host, once.
func (x *Index) Note(id, host string) (other string) {
	now := x.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.minion(id)
	m.at = now
	if m.proved && m.host == host {
		x.updatePlace(m, true)
		return ""
	}
	if host == m.left && now.Sub(m.moved) < duplicateTime && !m.reported && m.proved {
		other, m.reported = m.host, true
	}
	first := !m.proved
	m.left, m.moved, m.host, m.proved = m.host, now, host, true
	x.name(m)
	if first {
		m.lost = time.Time{} // its earlier connections say nothing about later ones
	}
	x.updatePlace(m, true)
	return other
}

// Forget drops the minions for which keep returns false. Their connections then have no known
// minion.
func (x *Index) Forget(keep func(id string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for topic, m := range x.named {
		if keep(m.id) {
			continue
		}
		delete(x.named, topic)
		*m = minion{id: m.id, links: m.links, place: m.place, prev: m.prev, next: m.next,
			given: m.given, since: m.since, gone: m.gone}
		x.reassign(topic)
		x.updatePlace(m, false)
		x.tidy(m)
	}
}

// Host returns the host that minion id was last heard from, or its host in the previous run, or "".
func (x *Index) Host(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.minions[id]; m != nil {
		return m.home()
	}
	return ""
}

// Proved returns the host of the last proved request of minion id. ok reports whether there was one
// since the master started.
func (x *Index) Proved(id string) (host string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.minions[id]; m != nil {
		return m.host, m.proved
	}
	return "", false
}

// Before reports whether minion id was connected in the previous run.
func (x *Index) Before(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.minions[id]
	return m != nil && m.before != ""
}

// Connected returns the sorted ids of the connected minions. The list must not be changed.
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

// Count returns the number of connected minions.
func (x *Index) Count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count
}

// Connections returns the connected minions, and the version of that set.
func (x *Index) Connections() (all map[string]Connection, version uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all = make(map[string]Connection, x.count)
	for id, m := range x.minions {
		if !m.connected() {
			continue
		}
		c := Connection{Host: m.home(), Since: m.since}
		for link := range m.links {
			c.Host = x.assignments[link].host
		}
		all[id] = c
	}
	return all, x.version
}

// Version returns a number that changes with the results of Connected and Connections.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// Absent returns the ids that are not connected, in the given order.
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

// Strangers reports whether there are connections that belong to no known minion.
func (x *Index) Strangers() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.strange > 0
}

// Sure reports whether the minion of each connection is known: no connection has an untrusted name,
// and none without a name could belong to one of several minions at its host.
func (x *Index) Sure() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.strange == 0 && x.unsure == 0
}

// Await returns a channel that is closed once minion id is certainly connected, and a function to
// end the wait. Both are nil if the minion is connected, or if there is another wait for it. A
// connection without a name may belong to another minion while there are fewer of these than
// minions without their own at the host.
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

// await records at its place that a minion is awaited, if it is.
func (x *Index) await(p *place, m *minion) {
	if x.awaited[m.id] != nil {
		p.awaited[m] = struct{}{}
	}
}

// unawait ends the wait for a minion.
func (x *Index) unawait(id string) {
	delete(x.awaited, id)
	if m := x.minions[id]; m != nil && m.place != nil {
		delete(m.place.awaited, m)
	}
}

// arrived ends the wait for a minion if it is certainly connected.
func (x *Index) arrived(m *minion) {
	if c := x.awaited[m.id]; c != nil && m.surely() {
		x.unawait(m.id)
		close(c)
	}
}

// full ends the waits for the minions at a place if there is a connection for each.
func (x *Index) full(p *place) {
	if p.conns < p.waits {
		return
	}
	for m := range p.awaited {
		x.arrived(m)
	}
}

// minion returns the entry of a minion, and adds it if there is none.
func (x *Index) minion(id string) *minion {
	m := x.minions[id]
	if m == nil {
		m = &minion{id: id}
		x.minions[id] = m
	}
	return m
}

// name assigns connections from the host of a minion that have its name.
func (x *Index) name(m *minion) {
	if m.topic == "" {
		m.topic = channel.Topic(m.id)
	}
	x.named[m.topic] = m
	x.reassign(m.topic)
}

// tidy drops the entry of a minion that has no data left.
func (x *Index) tidy(m *minion) {
	if !m.proved && m.before == "" && len(m.links) == 0 && x.minions[m.id] == m {
		delete(x.minions, m.id)
	}
}

// addTopic records that a connection has a topic, if that has the form of a name.
func (x *Index) addTopic(topic string, c *transport.Peer) {
	if !isTopic(topic) {
		return
	}
	if x.byTopic[topic] == nil {
		x.byTopic[topic] = links{}
	}
	x.byTopic[topic][c] = struct{}{}
}

// removeTopic reverses addTopic.
func (x *Index) removeTopic(topic string, c *transport.Peer) {
	delete(x.byTopic[topic], c)
	if len(x.byTopic[topic]) == 0 {
		delete(x.byTopic, topic)
	}
}

// isTopic reports whether a topic has the form of those derived from ids.
func isTopic(t string) bool {
	return len(t) == len(channel.Topic("")) && !slices.ContainsFunc([]byte(t), func(c byte) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
	})
}

// reassign assigns the connections with a topic anew.
func (x *Index) reassign(topic string) {
	for c := range x.byTopic[topic] {
		host := x.assignments[c].host
		x.unassign(c)
		x.assign(c, host)
	}
}

// assign assigns a connection to its minion or place.
func (x *Index) assign(c *transport.Peer, host string) {
	t := assignment{host: host}
	if c.ID != "" {
		t.owner = x.minion(c.ID)
	} else {
		t.owner, t.strange = x.ownerOf(c.Topics, host)
	}
	t.unnamed = t.owner == nil && !t.strange && len(c.Topics) > 0
	x.assignments[c] = t
	switch {
	case t.owner != nil:
		x.link(t.owner, c)
	case t.strange:
		x.strange++
	case t.unnamed:
		x.at(host, func(p *place) { p.connect(1) })
	}
}

// ownerOf returns the minion whose name a connection has among its topics. strange reports a name
// that is not trusted.
func (x *Index) ownerOf(topics []string, host string) (m *minion, strange bool) {
	for _, topic := range topics {
		if m := x.named[topic]; m != nil && m.home() == host {
			return m, false
		}
		strange = strange || isTopic(topic)
	}
	return nil, strange
}

// unassign reverses assign.
func (x *Index) unassign(c *transport.Peer) {
	t := x.assignments[c]
	delete(x.assignments, c)
	switch {
	case t.owner != nil:
		x.unlink(t.owner, c)
	case t.strange:
		x.strange--
	case t.unnamed:
		x.at(t.host, func(p *place) { p.connect(-1) })
	}
}

// link assigns a connection to its minion.
func (x *Index) link(m *minion, c *transport.Peer) {
	was := m.connected()
	if m.links == nil {
		m.links = links{}
	}
	m.links[c] = struct{}{}
	x.updatePlace(m, false)
	x.adjustCounters(m, was)
	x.arrived(m)
}

func (x *Index) unlink(m *minion, c *transport.Peer) {
	was := m.connected()
	delete(m.links, c)
	if len(m.links) == 0 {
		m.links, m.lost = nil, x.now()
	}
	x.adjustCounters(m, was)
	x.updatePlace(m, false)
	x.tidy(m)
}

// updatePlace adds a minion to the place of its host, or removes it, as its state requires.
func (x *Index) updatePlace(m *minion, heard bool) {
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

// at applies a change to the place of a host, and updates the counters.
func (x *Index) at(host string, change func(p *place)) {
	p := x.places[host]
	if p == nil {
		p = &place{host: host, setAssigned: x.setAssigned, awaited: map[*minion]struct{}{}}
		x.places[host] = p
	}
	x.countUnknown(p, -1)
	change(p)
	x.countUnknown(p, 1)
	x.full(p)
	if p.empty() {
		delete(x.places, host)
	}
}

// countUnknown adds by to the counters of places that leave something unknown.
func (x *Index) countUnknown(p *place, by int) {
	if p.unsure() {
		x.unsure += by
	}
	if p.strange() {
		x.strange += by
	}
}

// setAssigned sets whether a minion has a connection without a name assigned.
func (x *Index) setAssigned(m *minion, given bool) {
	was := m.connected()
	m.given = given
	x.adjustCounters(m, was)
}

// adjustCounters updates the counters after a minion may have connected or disconnected.
func (x *Index) adjustCounters(m *minion, was bool) {
	is := m.connected()
	if is == was {
		return
	}
	x.version++
	now := x.now()
	if !is {
		x.count--
		m.gone = now
		return
	}
	x.count++
	if m.since.IsZero() || now.Sub(m.gone) >= pause {
		m.since = now
	}
}

func (m *minion) connected() bool { return m.given || len(m.links) > 0 }

// surely reports whether a minion is connected, and cannot merely have a connection of another at
// its host.
func (m *minion) surely() bool {
	return len(m.links) > 0 || m.given && m.place.conns >= m.place.waits
}

// home returns the last known host of a minion.
func (m *minion) home() string {
	if m.proved {
		return m.host
	}
	return m.before
}

// unnamed reports whether a connection without a name may belong to the minion.
func (m *minion) unnamed() bool {
	return len(m.links) == 0 && (!m.proved || m.lost.IsZero() || m.at.Sub(m.lost) > unnamedAfter)
}

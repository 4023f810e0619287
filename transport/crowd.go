package transport

import (
	"container/list"
	"net"
	"net/netip"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/loglimit"
)

// A Crowd limits the connections of several servers together, so that they never use up the file
// descriptors that the process needs. An address becomes known when a request from it is
// authenticated; in IPv6 a /64 network counts as one address. An unknown address has a limited
// share of the connections. Above 80 % usage, each new connection closes the oldest subscriber
// connection of an unknown address, and at 100 % the oldest other connection of one. A nil Crowd
// imposes no limit. It is safe for concurrent use.
type Crowd struct {
	most  int
	share int
	tight int // above this, subscribers of unknown addresses are closed
	log   logrus.FieldLogger

	mu          sync.Mutex
	open        int
	counts      map[netip.Prefix]int
	known       map[netip.Prefix]struct{}
	subscribers list.List // *Place, oldest first; their addresses may have become known since
	others      list.List
	warnings    loglimit.Limiter
}

// knownHolds is the number of known addresses. Above it some are forgotten and have a limited share
// again.
const knownHolds = 1 << 16

// NewCrowd returns a Crowd of at most most connections. An unknown address may have a quarter of
// them.
func NewCrowd(most int, log logrus.FieldLogger) *Crowd {
	return &Crowd{most: most, share: max(most/4, 1), tight: most * 4 / 5, log: log,
		counts: map[netip.Prefix]int{}, known: map[netip.Prefix]struct{}{}}
}

// A Place is the entry of one connection in a Crowd.
type Place struct {
	crowd  *Crowd
	conn   net.Conn
	source netip.Prefix
	row    *list.List // list of unknown connections that contains it
	at     *list.Element
	gone   bool
}

// NetworkOf returns the unit that counts as one address: the address itself or, in IPv6, its /64
// network, since a single host may own all of that. It is the zero Prefix for no address, as with a
// unix socket.
func NetworkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// Enter registers a connection, and returns nil if it must be refused. It may close others to make
// room.
func (c *Crowd) Enter(conn net.Conn, source netip.Addr, subscriber bool) *Place {
	p := &Place{crowd: c, conn: conn, source: NetworkOf(source)}
	if c == nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unknown := c.unknown(p)
	if unknown && c.counts[p.source] >= c.share {
		c.warn("a quarter of them is in use by %s, which has not proved itself", p.source)
		return nil
	}
	if c.open >= c.tight && !c.evict(&c.subscribers) && c.open >= c.most && !c.evict(&c.others) {
		c.warn("a connection of %s is refused", p.source)
		return nil
	}
	c.open++
	c.counts[p.source]++
	if unknown {
		p.row = &c.others
		if subscriber {
			p.row = &c.subscribers
		}
		p.at = p.row.PushBack(p)
	}
	return p
}

// unknown reports whether the address of a place has not been authenticated. Connections without an
// address, as with a unix socket, are known.
func (c *Crowd) unknown(p *Place) bool {
	_, known := c.known[p.source]
	return p.source.IsValid() && !known
}

// evict closes the oldest connection in row whose address is still unknown, and reports whether
// there was one.
func (c *Crowd) evict(row *list.List) bool {
	for e := row.Front(); e != nil; e = row.Front() {
		p := e.Value.(*Place)
		row.Remove(e)
		p.at = nil
		if c.unknown(p) {
			c.leave(p)
			p.conn.Close()
			c.warn("a connection of %s, which has not proved itself, is closed", p.source)
			return true
		}
	}
	return false
}

// Leave removes a connection that has ended. It may be called repeatedly, and on a nil Place.
func (p *Place) Leave() {
	if p == nil || p.crowd == nil {
		return
	}
	p.crowd.mu.Lock()
	defer p.crowd.mu.Unlock()
	p.crowd.leave(p)
}

func (c *Crowd) leave(p *Place) {
	if p.gone {
		return
	}
	p.gone = true
	if p.at != nil {
		p.row.Remove(p.at)
		p.at = nil
	}
	c.open--
	if c.counts[p.source]--; c.counts[p.source] == 0 {
		delete(c.counts, p.source)
	}
}

// Prove marks an address as known after an authenticated request: its connections no longer have a
// limited share.
func (c *Crowd) Prove(source netip.Addr) {
	network := NetworkOf(source)
	if c == nil || !network.IsValid() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= knownHolds {
		for some := range c.known {
			delete(c.known, some)
			break
		}
	}
	c.known[network] = struct{}{}
}

// Most returns the maximum number of connections, 0 for a nil Crowd.
func (c *Crowd) Most() int {
	if c == nil {
		return 0
	}
	return c.most
}

// Open returns the number of connections, 0 for a nil Crowd.
func (c *Crowd) Open() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// warn logs a shortage of connections, at most once a minute.
func (c *Crowd) warn(format string, source netip.Prefix) {
	if c.log == nil || !c.warnings.First("") {
		return
	}
	c.log.Warnf("%d of at most %d connections are open: "+format+
		". Raise the limit of the service on open files (LimitNOFILE, ulimit -n).",
		c.open, c.most, source)
}

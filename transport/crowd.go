package transport

import (
	"container/list"
	"net"
	"net/netip"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/loglimit"
)

// A Crowd bounds the connections of several servers together, so that they never take the files that the process needs itself. An
// address is known once it has proved itself by a request; in IPv6 a network of 64 bits counts as one address. An unknown address
// has a share of the connections. Above 80 % each new connection ends the oldest subscriber of an unknown address, and when all
// places are taken the oldest other connection of one. The nil Crowd bounds nothing; several goroutines may use a Crowd.
type Crowd struct {
	most  int
	share int
	tight int // from here on subscribers of unknown addresses go
	log   logrus.FieldLogger

	mu          sync.Mutex
	open        int
	counts      map[netip.Prefix]int
	known       map[netip.Prefix]struct{}
	subscribers list.List // *Place, oldest first; addresses may have become known since
	others      list.List
	warnings    loglimit.Limiter
}

// knownHolds is how many addresses a Crowd knows; above that some are forgotten, which have a share again.
const knownHolds = 1 << 16

// NewCrowd returns a Crowd of at most so many connections, of which an unknown address may have a quarter.
func NewCrowd(most int, log logrus.FieldLogger) *Crowd {
	return &Crowd{most: most, share: max(most/4, 1), tight: most * 4 / 5, log: log,
		counts: map[netip.Prefix]int{}, known: map[netip.Prefix]struct{}{}}
}

// A Place is that of one connection in a Crowd.
type Place struct {
	crowd  *Crowd
	conn   net.Conn
	source netip.Prefix
	row    *list.List // of the unknown ones that it was put in
	at     *list.Element
	gone   bool
}

// NetworkOf returns what counts as one address: the address itself, or in IPv6 its network of 64 bits, as a single host may have all of
// that. It is the zero Prefix for none, as behind a unix socket.
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

// Enter gives a connection a place; nil when it must be refused. Others may be closed to make room.
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

// unknown reports whether a place is of an address that has not proved itself. What has no address, as behind a unix socket, is
// not unknown.
func (c *Crowd) unknown(p *Place) bool {
	_, known := c.known[p.source]
	return p.source.IsValid() && !known
}

// evict closes the oldest connection of a row whose address is still unknown, and reports whether there was one.
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

// Leave gives a place back when its connection has ended. It may be called again, and on the nil Place.
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

// Prove says that a request from an address proved who sent it: the connections from there are not bounded by a share any more.
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

// Most returns how many connections there may be, 0 of the nil Crowd.
func (c *Crowd) Most() int {
	if c == nil {
		return 0
	}
	return c.most
}

// Open returns how many connections there are, 0 of the nil Crowd.
func (c *Crowd) Open() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// warn logs once a minute that connections are short.
func (c *Crowd) warn(format string, source netip.Prefix) {
	if c.log == nil || !c.warnings.First("") {
		return
	}
	c.log.Warnf("%d of at most %d connections are open: "+format+". Raise the limit of the service on open files (LimitNOFILE, ulimit -n).",
		c.open, c.most, source)
}

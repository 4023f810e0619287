package webhook

import (
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/loglimit"
)

// Limits of concurrent connections: of all, and of one network other than the local host.
const (
	maxConns   = 200
	perNetwork = 50
)

// A port is a listener that closes connections above the limits at once. One network cannot take all
// places, and the bodies of all connections fit into memory.
type port struct {
	net.Listener
	host   engines.Host
	denied loglimit.Limiter

	mu   sync.Mutex
	all  int
	from map[netip.Prefix]int
}

func newPort(l net.Listener, h engines.Host) *port {
	return &port{Listener: l, host: h, from: map[netip.Prefix]int{}}
}

// A conn is a connection that has a place until it is closed.
type conn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// Accept returns the next connection that is within the limits.
func (p *port) Accept() (net.Conn, error) {
	for {
		raw, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := networkOf(raw.RemoteAddr())
		if err := p.enter(from); err != nil {
			p.denied.Warnf(p.host.Log, from.String(), "engine %s: connection from %s closed: %s", p.host.Name,
				raw.RemoteAddr(), err)
			_ = raw.Close()
			continue
		}
		return &conn{raw, sync.OnceFunc(func() { p.leave(from) })}, nil
	}
}

func (p *port) enter(from netip.Prefix) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxConns {
		return fmt.Errorf("there are %d already, which is the limit", p.all)
	}
	if n := p.from[from]; n >= perNetwork && !from.Addr().IsLoopback() {
		return fmt.Errorf("its network has %d already, which is the limit", n)
	}
	p.all++
	p.from[from]++
	return nil
}

func (p *port) leave(from netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.from[from]--; p.from[from] <= 0 {
		delete(p.from, from)
	}
}

// networkOf returns the network of a peer: its address, or the /64 of one of IPv6.
func networkOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	from := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := 64
	if from.Is4() || from.IsLoopback() {
		bits = from.BitLen()
	}
	network, err := from.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

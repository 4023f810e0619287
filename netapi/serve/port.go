package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/netapi"
)

// Listen opens the port of a door. The error names the address, and what may be the reason.
func Listen(ctx context.Context, d *netapi.Door) (net.Listener, error) {
	host := strings.Trim(d.Host, "[]")
	network := "tcp"
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		network = "tcp4" // 0.0.0.0 means no IPv6, as in Salt
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, net.JoinHostPort(host, strconv.Itoa(d.Port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w; does another salt-api run there? Stop it, or choose another port", err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%w; only root may use ports below 1024", err)
	}
	return l, err
}

// A port is a listener that limits connections.
type port struct {
	net.Listener
	most   limits
	log    logrus.FieldLogger
	denied loglimit.Limiter

	mu    sync.Mutex
	conns map[*conn]struct{}
	from  map[netip.Prefix]int
}

func newPort(l net.Listener, most limits, log logrus.FieldLogger) *port {
	return &port{Listener: l, most: most, log: log, conns: map[*conn]struct{}{}, from: map[netip.Prefix]int{}}
}

// A conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	port   *port
	from   netip.Prefix
	unused atomic.Bool // has not sent a whole header yet
}

// Accept returns the next connection. Those above the limits are closed.
func (p *port) Accept() (net.Conn, error) {
	for {
		raw, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, port: p, from: netapi.Network(netapi.AddressOf(raw.RemoteAddr().String()))}
		if err := p.admit(c); err != nil {
			p.denied.Warnf(p.log, c.from.String(), "connection from %s closed: %v", c.from.Addr(), err)
			_ = raw.Close()
			continue
		}
		return c, nil
	}
}

func (p *port) admit(c *conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) >= p.most.connections {
		return fmt.Errorf("there are %d already, which is the limit", len(p.conns))
	}
	if n := p.from[c.from]; n >= p.most.perAddress && !c.from.Addr().IsLoopback() {
		return fmt.Errorf("it has %d already, which is the limit of an address", n)
	}
	c.unused.Store(true)
	p.conns[c] = struct{}{}
	p.from[c.from]++
	return nil
}

// Close closes the connection.
func (c *conn) Close() error {
	c.port.release(c)
	return c.Conn.Close()
}

func (p *port) release(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.conns[c]; !ok {
		return
	}
	delete(p.conns, c)
	if p.from[c.from]--; p.from[c.from] <= 0 {
		delete(p.from, c.from)
	}
}

func (p *port) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// state notes when a connection has had its first request.
func (p *port) state(c net.Conn, s http.ConnState) {
	if own, ok := below(c).(*conn); ok && s != http.StateNew {
		own.unused.Store(false)
	}
}

// closeUnused closes the connections without a request. Server.Shutdown would wait for them.
func (p *port) closeUnused() { p.closeIf(func(c *conn) bool { return c.unused.Load() }) }

func (p *port) closeAll() { p.closeIf(func(*conn) bool { return true }) }

func (p *port) closeIf(chosen func(*conn) bool) {
	p.mu.Lock()
	var list []*conn
	for c := range p.conns {
		if chosen(c) {
			list = append(list, c)
		}
	}
	p.mu.Unlock()
	for _, c := range list {
		_ = c.Close()
	}
}

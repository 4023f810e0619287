package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sirupsen/logrus"
)

// A Dialer says where a client connects to, and how. It is a value: each client keeps its own copy.
type Dialer struct {
	// Addr is "tcp://host:port", "tcp://[addr6]:port" or "ipc://path". A name is looked up at each attempt, and all of
	// its addresses are tried.
	Addr string
	// Local is the address to connect from, nil for any: see [Source].
	Local *net.TCPAddr
	// Identity is the routing identity, which Salt sets to the minion id on the subscriber; servers of ours ignore it.
	Identity []byte

	Limits    Limits
	KeepAlive KeepAlive

	// BackoffMin is the pause before the first attempt after a loss (recon_default); 0 means 1 s. Pauses double from
	// there up to BackoffMax (recon_max); 0 means 10 s, less than BackoffMin means always BackoffMin.
	BackoffMin, BackoffMax time.Duration
	// Jitter (recon_randomize) draws each pause at random, up to its whole length, so that a fleet does not
	// return all at once.
	Jitter bool
	// DialTimeout bounds one attempt to connect to one address; 0 means 5 s.
	DialTimeout time.Duration

	// Hello returns what a subscriber says first on each connection, to a publisher that wants to know its subscribers
	// (tcp); publications are read meanwhile, and nothing is said when it fails. Nil says
	// nothing.
	Hello func(ctx context.Context) ([]byte, error)

	// OnState is told of each connection made and lost, in order; err says why it was lost or not made (the first
	// time in a row). It must not block for long and must not call the client.
	OnState func(up bool, err error)
	// Resolve looks a host name up; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	Log logrus.FieldLogger // nil logs nothing
}

// Connect makes one connection: it looks the name up and tries its addresses in turn, once.
func (d *Dialer) Connect(ctx context.Context) (net.Conn, error) {
	e, err := ParseEndpoint(d.Addr)
	if err != nil {
		return nil, err
	}
	if e.Path != "" {
		return d.dial(ctx, "unix", nil, e.Path)
	}
	addrs, err := d.addresses(ctx, e.Host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", e.Host, err)
	}
	return d.tryAll(ctx, addrs, e.Port)
}

func (d *Dialer) tryAll(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var failures []error
	for _, a := range addrs {
		conn, err := d.dial(ctx, "tcp", d.Local, netip.AddrPortFrom(a, port).String())
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(failures) == 0 {
		return nil, fmt.Errorf("connect to %s: no address", d.Addr)
	}
	return nil, errors.Join(failures...)
}

func (d *Dialer) dial(ctx context.Context, network string, local *net.TCPAddr, addr string) (net.Conn, error) {
	fill(&d.DialTimeout, 5*time.Second)
	nd := net.Dialer{Timeout: d.DialTimeout, KeepAliveConfig: d.KeepAlive.Config()}
	if d.KeepAlive.Disable {
		nd.KeepAlive = -1
	}
	if local != nil {
		nd.LocalAddr = local
		if local.Port != 0 {
			nd.Control = reuseAddress
		}
	}
	conn, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	SetUserTimeout(conn, d.userTimeout())
	return conn, nil
}

func (d *Dialer) userTimeout() time.Duration { return d.Limits.ClientLimits().WriteStall }

func (d *Dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return d.usable([]netip.Addr{a}), nil
	}
	resolve := d.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	addrs, err := resolve(ctx, host)
	return d.usable(addrs), err
}

// usable drops the addresses that cannot be reached from a local address of the other family.
func (d *Dialer) usable(addrs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		if d.Local == nil || d.Local.IP.IsUnspecified() || len(d.Local.IP) == 0 || (d.Local.IP.To4() != nil) == a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

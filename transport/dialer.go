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

// A Dialer describes how a client connects. It is a value: each client keeps its own copy.
type Dialer struct {
	// Addr is "tcp://host:port", "tcp://[addr6]:port" or "ipc://path". A host name is resolved at
	// each attempt, and all of its addresses are tried.
	Addr string
	// Local is the local address, nil for any; see [Source].
	Local *net.TCPAddr
	// Identity is the routing identity, which Salt sets to the minion id on the subscriber. Brine's
	// servers ignore it.
	Identity []byte

	Limits Limits
	// KeepAlive is for the connection. If it is Salt's default, the kernel probes a silent server
	// every 8 s, which is far cheaper than heartbeats; those detect a server that hangs.
	KeepAlive KeepAlive
	// ReadsOnly is set by subscribers. With Salt's KeepAlive the kernel then gives a server up after
	// 24 s. Others write, and a busy server may take longer to accept what they write.
	ReadsOnly bool

	// BackoffMin is the pause before the first attempt after a loss (recon_default); 0 means 1 s.
	// Pauses double up to BackoffMax (recon_max); 0 means 10 s. If BackoffMax is less than
	// BackoffMin, all pauses are BackoffMin.
	BackoffMin, BackoffMax time.Duration
	// Jitter (recon_randomize) randomizes each pause between 0 and its length, so that a fleet does
	// not reconnect all at once.
	Jitter bool
	// DialTimeout is the timeout of one attempt to connect to one address; 0 means 5 s.
	DialTimeout time.Duration

	// Hello returns the first message of a subscriber on each connection, for a publisher that
	// identifies its subscribers (tcp). Publications are read meanwhile. If it fails or is nil, no
	// message is sent.
	Hello func(ctx context.Context) ([]byte, error)

	// OnState is called for each connection made and lost, in order. err is the reason of a loss or
	// failed attempt (reported the first time in a row). It must not block for long and must not
	// call the client.
	OnState func(up bool, err error)
	// Resolve resolves a host name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	Log logrus.FieldLogger // nil means no log
}

// Connect makes one connection: it resolves the name and tries each address once.
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

// LookUp looks up the host name in Addr. The error says which name has no address; an address or a
// path needs no look-up.
func (d *Dialer) LookUp(ctx context.Context) error {
	e, err := ParseEndpoint(d.Addr)
	if err != nil || e.Path != "" {
		return err
	}
	addrs, err := d.addresses(ctx, e.Host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return fmt.Errorf("look up %s: %w", e.Host, err)
	}
	return nil
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

func (d *Dialer) dial(
	ctx context.Context, network string, local *net.TCPAddr, addr string,
) (net.Conn, error) {
	fill(&d.DialTimeout, 5*time.Second)
	keep := d.KeepAlive.Or(KeepAlive{Idle: probe, Interval: probe, Count: probes - 1})
	nd := net.Dialer{Timeout: d.DialTimeout, KeepAliveConfig: keep.Config()}
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

// probe is the time between keepalive probes, and probes how many of these a server may be silent.
const (
	probe  = 8 * time.Second
	probes = 3
)

// userTimeout returns the time of [SetUserTimeout]. It ends keepalive, too, whatever its count.
func (d *Dialer) userTimeout() time.Duration {
	stall := d.Limits.ClientLimits().WriteStall
	if d.ReadsOnly && d.KeepAlive.Or(KeepAlive{}) != d.KeepAlive {
		return min(stall, probes*probe)
	}
	return stall
}

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

// usable removes addresses that cannot be reached from a local address of the other family.
func (d *Dialer) usable(addrs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		if d.Local == nil || d.Local.IP.IsUnspecified() || len(d.Local.IP) == 0 ||
			(d.Local.IP.To4() != nil) == a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

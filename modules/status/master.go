//go:build linux

package status

import (
	"context"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type masterArgs struct {
	Master    any  `default:"None"`
	Connected bool `default:"True"`
}

// master reports whether the minion has a connection to a master. If that differs from connected,
// it sends an event to the minion.
//
// connected
//
//	The expected state.
//
// CLI Example:
//
//	salt '*' status.master
func (m *module) master(ctx context.Context, a masterArgs) (any, error) {
	if !data.Truth(a.Master) {
		return nil, nil
	}
	name := data.Str(a.Master)
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(ips) == 0 {
		return nil, nil
	}
	v, err := calls.ConfigGet[any](ctx, m.env, "publish_port", int64(4505))
	if err != nil {
		return nil, err
	}
	port, err := loader.Int(v)
	if err != nil {
		return nil, err
	}
	peers := m.peers(port)
	there := slices.ContainsFunc(ips,
		func(ip netip.Addr) bool { return slices.Contains(peers, ip.Unmap()) })
	if there != a.Connected {
		tag := "__master_disconnected"
		if there {
			tag = "__master_connected"
		}
		m.env.Fired(ctx, tag, data.NewMap("master", name))
	}
	return there, nil
}

// peers returns the hosts that this host is connected to on a port.
func (m *module) peers(port int64) []netip.Addr {
	var found []netip.Addr
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		m.table(file, func(_ string, words []string) {
			const established = "01"
			if len(words) < 4 || words[3] != established {
				return
			}
			if peer, ok := endpoint(words[2]); ok && int64(peer.Port()) == port {
				found = append(found, peer.Addr().Unmap())
			}
		})
	}
	return found
}

// endpoint parses an address and port in /proc/net/tcp. The address consists of 32-bit words in the
// byte order of the processor.
func endpoint(s string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || portErr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr, uint16(n)), ok
}

type pingArgs struct{ Master any }

// pingMaster reports whether the request port of a master accepts connections. If so, it sends an
// event to the minion, which may then return to that master.
//
// CLI Example:
//
//	salt '*' status.ping_master localhost
func (m *module) pingMaster(ctx context.Context, a pingArgs) (any, error) {
	name := data.Str(a.Master)
	if a.Master == nil || name == "" {
		return false, nil
	}
	port := data.Str(m.env.Option("master_port"))
	host := name
	if h, p, err := net.SplitHostPort(name); err == nil {
		host, port = h, p
	}
	limit, err := loader.Float(m.env.Option("auth_timeout"))
	if err != nil || limit <= 0 {
		limit = 60
	}
	dialer := net.Dialer{Timeout: time.Duration(limit * float64(time.Second))}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(strings.Trim(host, "[]"), port))
	if err != nil {
		return false, nil
	}
	m.env.Fired(ctx, "__master_failback", data.NewMap("master", name))
	return true, conn.Close()
}

type proxyArgs struct {
	ProxyName any
	Opts      any `default:"None"`
}

// proxyReconnect returns False, because proxy minions do not exist here.
//
// CLI Example:
//
//	salt '*' status.proxy_reconnect rest_sample
func (m *module) proxyReconnect(context.Context, proxyArgs) (any, error) { return false, nil }

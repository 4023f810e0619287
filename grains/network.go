package grains

import (
	"context"
	"net/netip"
	"slices"
	"sort"
	"sync"

	"github.com/brineproject/brine/data"
)

// A link is a network interface with its addresses, in the system's order.
type link struct {
	name   string
	hwaddr string // "" if it has none
	addrs  []linkAddr
}

type linkAddr struct {
	addr      netip.Addr
	secondary bool // Salt lists these after all others of the interface
}

// A network is the interfaces, read once for a collection.
type network struct {
	links func() []link
}

func (c *Collector) network() *network {
	return &network{links: sync.OnceValue(func() []link {
		links, err := c.links()
		if err != nil {
			c.o.Log.WithError(err).Warn("Grains of the network are missing")
		}
		return links
	})}
}

// of returns the addresses of an interface for which keep returns true: IPv4, IPv6, then secondary
// ones.
func (l link) of(keep func(netip.Addr) bool) []any {
	var v4, v6, secondary []any
	for _, a := range l.addrs {
		switch text := a.addr.String(); {
		case !keep(a.addr):
		case a.secondary:
			secondary = append(secondary, text)
		case a.addr.Is4():
			v4 = append(v4, text)
		default:
			v6 = append(v6, text)
		}
	}
	return append(append(append([]any{}, v4...), v6...), secondary...)
}

func anyAddr(netip.Addr) bool { return true }

func (n *network) byInterface(keep func(netip.Addr) bool) *data.Map {
	m := data.NewMap()
	for _, l := range n.links() {
		m.Set(l.name, l.of(keep))
	}
	return m
}

// all returns the addresses of all interfaces, sorted and without duplicates.
func (n *network) all(keep func(netip.Addr) bool) []netip.Addr {
	var list []netip.Addr
	for _, l := range n.links() {
		for _, a := range l.addrs {
			if keep(a.addr) {
				list = append(list, a.addr)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Less(list[j]) })
	return slices.Compact(list)
}

func texts(addrs []netip.Addr) []any {
	list := make([]any, len(addrs))
	for i, a := range addrs {
		list[i] = a.String()
	}
	return list
}

func (c *collection) ipInterfaces(context.Context) *data.Map {
	return data.NewMap("ip_interfaces", c.net.byInterface(anyAddr))
}

func (c *collection) ip4Interfaces(context.Context) *data.Map {
	return data.NewMap("ip4_interfaces", c.net.byInterface(netip.Addr.Is4))
}

func (c *collection) ip6Interfaces(context.Context) *data.Map {
	return data.NewMap("ip6_interfaces", c.net.byInterface(netip.Addr.Is6))
}

func (c *collection) hardwareAddresses(context.Context) *data.Map {
	m := data.NewMap()
	for _, l := range c.net.links() {
		if l.hwaddr != "" {
			m.Set(l.name, l.hwaddr)
		}
	}
	return data.NewMap("hwaddr_interfaces", m)
}

// gateway returns ip_gw, ip4_gw and ip6_gw: the address of the first default route of the main
// table, True for a default route without a gateway, False for none (salt/grains/core.py,
// default_gateway).
func (c *collection) gateway(context.Context) *data.Map {
	v4, v6, ok := c.gateways()
	if !ok {
		return nil
	}
	return data.NewMap("ip_gw", v4 != false || v6 != false, "ip4_gw", v4, "ip6_gw", v6)
}

// addresses returns ipv4, ipv6, fqdn_ip4 and fqdn_ip6.
func (c *collection) addresses(context.Context) *data.Map {
	v4, v6 := c.net.all(netip.Addr.Is4), c.net.all(netip.Addr.Is6)
	g := data.NewMap("ipv4", texts(v4), "ipv6", texts(v6), "fqdn_ip4", []any{}, "fqdn_ip6", []any{})
	names := c.names()
	fqdn := names.fqdn(c.lookups)
	var wg sync.WaitGroup
	var found4, found6 []netip.Addr
	if len(v4) > 0 {
		wg.Go(func() { found4 = names.addresses(c.lookups, fqdn, false) })
	}
	if len(v6) > 0 {
		wg.Go(func() { found6 = names.addresses(c.lookups, fqdn, true) })
	}
	wg.Wait()
	g.Set("fqdn_ip4", texts(found4))
	g.Set("fqdn_ip6", texts(found6))
	return g
}

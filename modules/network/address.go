package network

import (
	"context"
	"math/big"
	"net/netip"
	"slices"
	"sort"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type ipAddrsArgs struct {
	Interface       any  `default:"None"`
	IncludeLoopback bool `default:"False"`
	Cidr            any  `default:"None"`
	Type            any  `default:"None"`
}

// ipAddrs returns the IPv4 addresses of the host, sorted.
//
// interface : None
//
//	Only the addresses of interfaces whose names match: a glob, several separated by commas, or
//	a list.
//
// include_loopback : False
//
//	Also return loopback addresses.
//
// cidr : None
//
//	Only the addresses in this network.
//
// type : None
//
//	public or private: only addresses of that type.
//
// CLI Example:
//
//	salt '*' network.ip_addrs
//	salt '*' network.ip_addrs cidr=10.0.0.0/8
func (m *module) ipAddrs(_ context.Context, a ipAddrsArgs) (any, error) {
	addrs, err := m.addresses(a.Interface, a.IncludeLoopback, true)
	switch {
	case err != nil:
		return nil, err
	case !isNone(a.Cidr):
		addrs = m.inside(addrs, data.Str(a.Cidr))
	case a.Type == "public":
		addrs = slices.DeleteFunc(addrs, private)
	case a.Type == "private":
		addrs = slices.DeleteFunc(addrs, func(ip netip.Addr) bool { return !private(ip) })
	}
	return texts(addrs), nil
}

type ipAddrs6Args struct {
	Interface       any  `default:"None"`
	IncludeLoopback bool `default:"False"`
	Cidr            any  `default:"None"`
}

// ipAddrs6 returns the IPv6 addresses of the host, sorted. The arguments are those of
// network.ip_addrs.
//
// CLI Example:
//
//	salt '*' network.ip_addrs6
//	salt '*' network.ip_addrs6 cidr=2000::/3
func (m *module) ipAddrs6(_ context.Context, a ipAddrs6Args) (any, error) {
	addrs, err := m.addresses(a.Interface, a.IncludeLoopback, false)
	if err != nil {
		return nil, err
	}
	if !isNone(a.Cidr) {
		addrs = m.inside(addrs, data.Str(a.Cidr))
	}
	return texts(addrs), nil
}

func (m *module) addresses(interfaces any, loopback, v4 bool) ([]netip.Addr, error) {
	chosen, err := m.chosen(interfaces, v4)
	var list []netip.Addr
	for _, a := range chosen {
		if loopback || !a.ip.IsLoopback() {
			list = append(list, a.ip)
		}
	}
	return slices.Compact(list), err
}

// inside returns the addresses in a network. If cidr is invalid, it logs that and returns none.
func (m *module) inside(addrs []netip.Addr, cidr string) []netip.Addr {
	n, err := network(cidr, true)
	if err != nil {
		m.env.Log.Errorf("Invalid CIDR '%s'", cidr)
		return nil
	}
	return slices.DeleteFunc(addrs, func(ip netip.Addr) bool { return !n.Contains(ip) })
}

type ipNetworksArgs struct {
	Interface       any  `default:"None"`
	IncludeLoopback bool `default:"False"`
	Verbose         bool `default:"False"`
}

// ipNetworks returns the IPv4 networks that the host has addresses in, sorted.
//
// interface, include_loopback
//
//	As in network.ip_addrs.
//
// verbose : False
//
//	Return the address, the netmask, the prefix and the number of addresses of each network.
//
// CLI Example:
//
//	salt '*' network.ip_networks
//	salt '*' network.ip_networks interface=docker0 verbose=True
func (m *module) ipNetworks(_ context.Context, a ipNetworksArgs) (any, error) {
	return m.networks(a, true)
}

// ipNetworks6 returns the IPv6 networks that the host has addresses in, sorted. The arguments are
// those of network.ip_networks.
//
// CLI Example:
//
//	salt '*' network.ip_networks6
func (m *module) ipNetworks6(_ context.Context, a ipNetworksArgs) (any, error) {
	return m.networks(a, false)
}

func (m *module) networks(a ipNetworksArgs, v4 bool) (any, error) {
	chosen, err := m.chosen(a.Interface, v4)
	if err != nil {
		return nil, err
	}
	list := prefixes(chosen, func(n netip.Prefix, _ netip.Addr) bool { return a.IncludeLoopback || !loopback(n) })
	if !a.Verbose {
		return texts(list), nil
	}
	all := data.NewMap()
	for _, n := range list {
		all.Set(n.String(), data.NewMap("address", n.Addr().String(), "netmask", maskOf(n).String(),
			"num_addresses", size(n), "prefixlen", int64(n.Bits())))
	}
	return all, nil
}

// prefixes returns the networks of addresses that keep accepts, sorted as Python sorts them.
func prefixes(addrs []address, keep func(netip.Prefix, netip.Addr) bool) []netip.Prefix {
	var list []netip.Prefix
	for _, a := range addrs {
		n, err := a.ip.WithZone("").Prefix(a.bits)
		if err == nil && keep(n, a.ip) {
			list = append(list, n)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.Addr().Less(b.Addr()) || a.Addr() == b.Addr() && a.Bits() < b.Bits()
	})
	return slices.Compact(list)
}

func loopback(n netip.Prefix) bool { return n.Addr().IsLoopback() && last(n).IsLoopback() }

// size returns the number of addresses in a network.
func size(n netip.Prefix) any {
	count := new(big.Int).Lsh(big.NewInt(1), uint(n.Addr().BitLen()-n.Bits()))
	if count.IsInt64() {
		return count.Int64()
	}
	return count
}

type subnetsArgs struct {
	Interfaces any `default:"None"`
}

// subnets returns the IPv4 networks that the host has addresses in, sorted, except the loopback
// network.
//
// interfaces : None
//
//	Only the networks of this interface, or of a list of interfaces.
//
// CLI Example:
//
//	salt '*' network.subnets
//	salt '*' network.subnets interfaces=eth1
func (m *module) subnets(_ context.Context, a subnetsArgs) (any, error) {
	return m.subnetsOf(a.Interfaces, true)
}

// subnets6 returns the IPv6 networks that the host has addresses in, sorted, except the loopback
// network.
//
// CLI Example:
//
//	salt '*' network.subnets6
func (m *module) subnets6(context.Context, loader.NoArgs) (any, error) {
	return m.subnetsOf(nil, false)
}

func (m *module) subnetsOf(interfaces any, v4 bool) (any, error) {
	links, err := m.links()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	wanted, isList := interfaces.([]any)
	if interfaces != nil && !isList {
		wanted = []any{interfaces}
	}
	var addrs []address
	for _, l := range links {
		if interfaces != nil && !slices.Contains(wanted, any(l.name)) {
			continue
		}
		for _, a := range l.addrs {
			if a.ip.Is4() == v4 {
				addrs = append(addrs, a)
			}
		}
	}
	return texts(prefixes(addrs, func(_ netip.Prefix, ip netip.Addr) bool { return !ip.IsLoopback() })), nil
}

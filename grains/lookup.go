package grains

import (
	"context"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
)

// resolver is the part of net.Resolver that asks DNS servers.
type resolver interface {
	LookupCNAME(ctx context.Context, host string) (string, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupAddr(ctx context.Context, addr string) ([]string, error)
}

func systemResolver() resolver { return &net.Resolver{} }

// names looks names up as /etc/nsswitch.conf says, as the C library does for Salt.
type names struct {
	hostname string
	services []string // files, dns, myhostname
	hosts    []hostsLine
	dns      resolver
	local    func(keep func(netip.Addr) bool) []netip.Addr
}

type hostsLine struct {
	addr  netip.Addr
	names []string
}

func (c *collection) names() *names {
	return &names{
		hostname: first(c.uname().Text("nodename"), "localhost"),
		services: nameServices(c.host.text("/etc/nsswitch.conf")),
		hosts:    parseHosts(c.host.text("/etc/hosts")),
		dns:      c.dns,
		local:    c.net.all,
	}
}

// nameServices returns the supported services of the line hosts of nsswitch.conf, in order.
func nameServices(text string) []string {
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "hosts" {
			continue
		}
		var list []string
		for _, word := range strings.Fields(value) {
			if word == "resolve" {
				word = "dns"
			}
			if slices.Contains([]string{"files", "dns", "myhostname"}, word) &&
				!slices.Contains(list, word) {
				list = append(list, word)
			}
		}
		return list
	}
	return []string{"files", "dns"}
}

// parseHosts parses a hosts file.
func parseHosts(text string) []hostsLine {
	var list []hostsLine
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		field := strings.Fields(line)
		if len(field) < 2 {
			continue
		}
		if addr, err := netip.ParseAddr(field[0]); err == nil {
			list = append(list, hostsLine{addr, field[1:]})
		}
	}
	return list
}

func (l hostsLine) has(name string) bool {
	return slices.ContainsFunc(l.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// fqdn returns the canonical name of this host (salt/utils/network.py, get_fqhostname).
func (n *names) fqdn(ctx context.Context) string {
	for _, service := range n.services {
		switch service {
		case "files":
			for _, l := range n.hosts {
				if l.has(n.hostname) {
					return l.names[0]
				}
			}
		case "myhostname":
			return n.hostname
		case "dns":
			if name, err := n.dns.LookupCNAME(ctx, n.hostname); err == nil {
				return strings.TrimSuffix(name, ".")
			}
		}
	}
	return n.hostname
}

// addresses returns the IPv4 or IPv6 addresses of a name, without duplicates.
func (n *names) addresses(ctx context.Context, name string, v6 bool) []netip.Addr {
	for _, service := range n.services {
		var found []netip.Addr
		switch service {
		case "files":
			found = n.fromHosts(name, v6)
		case "myhostname":
			found = n.ownAddresses(name, v6)
		case "dns":
			found = n.fromDNS(ctx, name, v6)
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

func (n *names) fromHosts(name string, v6 bool) []netip.Addr {
	var found []netip.Addr
	for _, l := range n.hosts {
		if l.has(name) && l.addr.Is6() == v6 && !slices.Contains(found, l.addr) {
			found = append(found, l.addr)
		}
	}
	return found
}

// ownAddresses returns the addresses for this host's own name, as systemd's nss-myhostname does.
func (n *names) ownAddresses(name string, v6 bool) []netip.Addr {
	if !strings.EqualFold(name, n.hostname) {
		return nil
	}
	found := n.local(func(a netip.Addr) bool { return a.Is6() == v6 && !a.IsLoopback() })
	switch {
	case len(found) > 0:
		return found
	case v6:
		return []netip.Addr{netip.IPv6Loopback()}
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 2})}
}

func (n *names) fromDNS(ctx context.Context, name string, v6 bool) []netip.Addr {
	network := "ip4"
	if v6 {
		network = "ip6"
	}
	addrs, err := n.dns.LookupNetIP(ctx, network, name)
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range addrs {
		if a = a.Unmap(); a.Is6() == v6 && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}

// reverse returns the full names of an address.
func (n *names) reverse(ctx context.Context, addr netip.Addr) []string {
	for _, service := range n.services {
		switch service {
		case "files":
			for _, l := range n.hosts {
				if l.addr == addr {
					return fullNames(l.names)
				}
			}
		case "dns":
			if found, err := n.dns.LookupAddr(ctx, addr.String()); err == nil && len(found) > 0 {
				for i := range found {
					found[i] = strings.TrimSuffix(found[i], ".")
				}
				return fullNames(found)
			}
		}
	}
	return nil
}

var label = regexp.MustCompile(`^[A-Za-z\d_\-]+$`)

// fullNames returns first the first name that has a dot, or the first of all if none has, and then
// the other full names.
func fullNames(list []string) []string {
	best := list[0]
	if i := slices.IndexFunc(list,
		func(s string) bool { return strings.Contains(s, ".") }); i >= 0 {
		best = list[i]
	}
	found := []string{best}
	for _, name := range list[1:] {
		if isFullName(name) {
			found = append(found, name)
		}
	}
	return found
}

func isFullName(name string) bool {
	if !strings.Contains(name, ".") || len(name) >= 255 {
		return false
	}
	for _, part := range strings.Split(strings.TrimRight(name, "."), ".") {
		if len(part) > 63 || !label.MatchString(part) || strings.HasPrefix(part, "-") ||
			strings.HasSuffix(part, "-") {
			return false
		}
	}
	return true
}

// hostname returns localhost, fqdn, host and domain.
func (c *collection) hostname(context.Context) *data.Map {
	n := c.names()
	fqdn := n.fqdn(c.lookups)
	name, domain, _ := strings.Cut(fqdn, ".")
	return data.NewMap("localhost", n.hostname, "fqdn", fqdn, "host", name, "domain", domain)
}

// fqdns returns the names of all addresses but the loopback's, looked up concurrently, if
// enable_fqdns_grains is set.
func (c *collection) fqdns(context.Context) *data.Map {
	if !c.option("enable_fqdns_grains", false) {
		return data.NewMap("fqdns", []any{})
	}
	n := c.names()
	addrs := c.net.all(func(a netip.Addr) bool { return !a.IsLoopback() })
	found := make([][]string, len(addrs))
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i, a := range addrs {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = n.reverse(c.lookups, a)
		})
	}
	wg.Wait()
	all := slices.Concat(found...)
	slices.Sort(all)
	return data.NewMap("fqdns", data.Values(slices.Compact(all)))
}

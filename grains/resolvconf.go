package grains

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// resolvConf returns the grain dns.
func (c *collection) resolvConf(context.Context) *data.Map {
	if onWindows() || c.o.Opts.Has("proxyminion") {
		return nil
	}
	path := "/etc/resolv.conf"
	if systemd := "/run/systemd/resolve/resolv.conf"; c.host.exists(systemd) {
		path = systemd
	}
	b, err := c.host.read(path)
	if err != nil {
		return nil
	}
	return data.NewMap("dns", parseResolvConf(clean(b)))
}

// parseResolvConf parses a resolv.conf (salt/utils/dns.py, parse_resolv). Like Salt, it keeps only
// the first word of a line of options.
func parseResolvConf(text string) *data.Map {
	var servers, v4, v6, options, sortlist []string
	search, domain := []any{}, ""
	for _, line := range strings.Split(text, "\n") {
		field := strings.Fields(line)
		if len(field) == 0 {
			continue
		}
		arg := untilComment(field[1:])
		switch directive := strings.ToLower(field[0]); {
		case directive == "search":
			search = data.Values(arg)
		case directive == "sortlist":
			for _, a := range arg {
				if network := sortNetwork(a); network != "" {
					sortlist = appendNew(sortlist, network)
				}
			}
		case len(arg) == 0:
		case directive == "nameserver":
			addr, err := netip.ParseAddr(arg[0])
			if err != nil {
				continue
			}
			servers = appendNew(servers, addr.String())
			if addr.Is4() {
				v4 = appendNew(v4, addr.String())
			} else {
				v6 = appendNew(v6, addr.String())
			}
		case directive == "domain":
			domain = arg[0]
		case directive == "options":
			options = appendNew(options, arg[0])
		}
	}
	return data.NewMap("nameservers", data.Values(servers), "ip4_nameservers", data.Values(v4),
		"ip6_nameservers", data.Values(v6), "sortlist", data.Values(sortlist), "domain", domain,
		"search", search, "options", data.Values(options))
}

func untilComment(words []string) []string {
	if i := slices.IndexFunc(words,
		func(w string) bool { return w[0] == '#' || w[0] == ';' }); i >= 0 {
		return words[:i]
	}
	return words
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// sortNetwork returns a network of a sortlist as address/netmask, or "" if it is invalid. An IPv4
// address without a mask gets the mask that Salt uses for its class.
func sortNetwork(s string) string {
	text, mask, hasMask := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return ""
	}
	bits := addr.BitLen()
	switch {
	case hasMask:
		if bits = maskBits(mask, addr); bits < 0 {
			return ""
		}
	case addr.Is4():
		bits = naturalBits(addr)
	}
	p, err := addr.Prefix(bits)
	if err != nil || hasMask && p.Addr() != addr {
		return ""
	}
	return p.Addr().String() + "/" + net.IP(net.CIDRMask(bits, addr.BitLen())).String()
}

func naturalBits(a netip.Addr) int {
	switch first := a.As4()[0]; {
	case first >= 0xc0:
		return 24
	case first >= 0x80:
		return 16
	}
	return 8
}

// maskBits returns the length of a mask that is a number or, for IPv4, an address; -1 if it is
// neither.
func maskBits(mask string, addr netip.Addr) int {
	if n, ok := number(mask).(int64); ok && n <= int64(addr.BitLen()) {
		return int(n)
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !addr.Is4() {
		return -1
	}
	ones, bits := net.IPMask(m.AsSlice()).Size()
	if bits == 0 {
		return -1
	}
	return ones
}

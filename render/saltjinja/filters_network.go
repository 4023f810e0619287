package saltjinja

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// networkFilters returns the filters of salt/utils/network.py.
func networkFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"is_ip": isAddress("is_ip_filter", 4, 6), "is_ipv4": isAddress("is_ipv4_filter", 4),
		"is_ipv6": isAddress("is_ipv6_filter", 6), "ipv4": addresses("ipv4", 4),
		"ipv6": addresses("ipv6", 6), "ipaddr": addresses("ipaddr", 4, 6),
		"ip_host": networks("ip_host", hostOf), "network_hosts": networks("network_hosts", hostsOf),
		"network_size": networks("network_size", sizeOf), "gen_mac": genMAC,
		"mac_str_to_bytes": textFilter("mac_str_to_bytes", macBytes),
		"dns_check":        dnsCheck, "filter_by_networks": filterByNetworks,
		"ipwrap": one("ipwrap", ipWrap),
	}
}

// An address is an ip_address, or an ip_interface with the bits of its network.
type address struct {
	ip   netip.Addr
	bits int // -1: an ip_address
}

// parseAddress parses an address as Python's ip_address does, or an interface with a mask.
func parseAddress(v any) (address, bool) {
	switch n := v.(type) {
	case int64:
		if n >= 0 && n <= 0xffffffff {
			return address{netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8),
				byte(n)}), -1}, true
		}
		return address{}, false
	}
	text, ok := textOf(v)
	if !ok {
		return address{}, false
	}
	host, mask, masked := strings.Cut(text, "/")
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return address{}, false
	}
	if !masked {
		return address{ip, -1}, true
	}
	bits, ok := maskBits(mask, ip)
	return address{ip, bits}, ok
}

// maskBits parses the length of a network's prefix, or an IPv4 mask.
func maskBits(mask string, ip netip.Addr) (int, bool) {
	if n, err := strconv.Atoi(mask); err == nil && strings.Trim(mask, "0123456789") == "" {
		return n, n <= ip.BitLen()
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !ip.Is4() || !m.Is4() {
		return 0, false
	}
	b := m.As4()
	if ones, size := net.IPMask(b[:]).Size(); size == 32 {
		return ones, true
	}
	for i := range b {
		b[i] = ^b[i] // a host mask
	}
	ones, size := net.IPMask(b[:]).Size()
	return ones, size == 32
}

func (a address) version() int {
	if a.ip.Is4() {
		return 4
	}
	return 6
}

func (a address) String() string {
	if a.bits < 0 {
		return ipText(a.ip)
	}
	return ipText(a.ip) + "/" + strconv.Itoa(a.bits)
}

// ipText prints an address as Python does, which has no dotted end for IPv6.
func ipText(ip netip.Addr) string {
	if ip.Is4In6() {
		b := ip.As16()
		return fmt.Sprintf("::ffff:%x:%x", int(b[12])<<8|int(b[13]), int(b[14])<<8|int(b[15]))
	}
	return ip.String()
}

func (a address) prefix() netip.Prefix {
	bits := a.bits
	if bits < 0 {
		bits = a.ip.BitLen()
	}
	return netip.PrefixFrom(a.ip.WithZone(""), bits).Masked()
}

// is reports whether an address has the properties in options, a list of words with commas.
func (a address) is(options string) bool {
	for word := range strings.SplitSeq(options, ",") {
		ok := true
		switch strings.TrimSpace(word) {
		case "global", "public":
			ok = !isPrivate(a.ip)
		case "private":
			ok = isPrivate(a.ip)
		case "link-local", "linklocal", "ll", "link_local":
			ok = a.ip.IsLinkLocalUnicast()
		case "loopback", "lo":
			ok = a.ip.IsLoopback()
		case "multicast":
			ok = a.ip.IsMulticast()
		case "reserved":
			ok = isReserved(a.ip)
		case "site-local", "sl", "site_local":
			ok = a.ip.Is6() && netip.MustParsePrefix("fec0::/10").Contains(a.ip)
		case "unspecified":
			ok = a.ip.IsUnspecified()
		}
		if !ok {
			return false
		}
	}
	return true
}

func within(ip netip.Addr, list string) bool {
	for p := range strings.FieldsSeq(list) {
		if netip.MustParsePrefix(p).Contains(ip) {
			return true
		}
	}
	return false
}

// isPrivate is is_private of Python's ipaddress.
func isPrivate(ip netip.Addr) bool {
	return within(ip, "0.0.0.0/8 10.0.0.0/8 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/29 192.0.0.170/31 192.0.2.0/24 "+
		"192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 "+
		"::1/128 ::/128 ::ffff:0:0/96 100::/64 2001::/23 2001:2::/48 2001:db8::/32 2001:10::/28 fc00::/7 fe80::/10")
}

// isReserved is is_reserved of Python's ipaddress.
func isReserved(ip netip.Addr) bool {
	return within(ip, "240.0.0.0/4 ::/8 100::/8 200::/7 400::/6 800::/5 1000::/4 4000::/3 6000::/3 8000::/3 a000::/3 c000::/3 e000::/4 f000::/5 f800::/6 fe00::/9")
}

// pickAddress returns the text of a value if it is an address of one of the versions with the
// properties in options.
func pickAddress(v any, options string, versions []int) (string, bool) {
	a, ok := parseAddress(v)
	if !ok {
		return "", false
	}
	for _, n := range versions {
		if a.version() == n && (options == "" || a.is(options)) {
			return a.String(), true
		}
	}
	return "", false
}

func isAddress(name string, versions ...int) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "ip_addr", "options=")
		options, _ := textOf(p.or(1, ""))
		_, ok := pickAddress(p.args[0], options, versions)
		return ok, p.err
	}
}

func addresses(name string, versions ...int) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "value", "options=")
		options, _ := textOf(p.or(1, ""))
		if p.err != nil {
			return nil, p.err
		}
		return filterAddresses(p, p.args[0], options, versions)
	}
}

// filterAddresses is _ipv_filter. For a single value it returns the address or None, for a list the
// addresses in it. With both versions, IPv4 addresses come first.
func filterAddresses(p *params, v any, options string, versions []int) (any, error) {
	switch v.(type) {
	case string, jinja.Markup, []byte:
		if s, ok := pickAddress(v, options, versions); ok {
			return s, nil
		}
		return nil, nil
	case *jinja.List, data.Tuple, jinja.Iterator:
	default:
		return nil, defined(v)
	}
	items, err := p.c.Items(v)
	out := jinja.NewList()
	for _, n := range versions {
		for _, item := range items {
			if s, ok := pickAddress(item, options, []int{n}); ok {
				out.Items = append(out.Items, s)
			}
		}
	}
	return out, err
}

// networks makes a filter for the networks of addresses: of a single one, or of a list of them.
func networks(name string, fn func(p *params, a address) (any, error)) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "value", "options=", "version=")
		options, _ := textOf(p.or(1, ""))
		versions := []int{4, 6}
		if n := int(p.number(2, 0)); n != 0 {
			versions = []int{n}
		}
		if p.err != nil {
			return nil, p.err
		}
		found, err := filterAddresses(p, p.args[0], options, versions)
		if err != nil || found == nil {
			return nil, err
		}
		list, many := found.(*jinja.List)
		if !many {
			a, _ := parseAddress(found)
			return fn(p, a)
		}
		if len(list.Items) == 0 {
			return nil, nil
		}
		for i, item := range list.Items {
			a, _ := parseAddress(item)
			if list.Items[i], err = fn(p, a); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

// hostOf returns the text of an ip_interface.
func hostOf(_ *params, a address) (any, error) {
	if a.bits < 0 {
		a.bits = a.ip.BitLen()
	}
	return a.String(), nil
}

// hostsOf returns the addresses of hosts in the network: all but the first and, for IPv4, the last
// one.
func hostsOf(p *params, a address) (any, error) {
	prefix := a.prefix()
	free := prefix.Addr().BitLen() - prefix.Bits()
	if free > 20 {
		return nil, jinja.Raise(jinja.LimitError, "network_hosts of %s: more than %d hosts",
			prefix, 1<<20)
	}
	if err := p.c.Room(40 << free); err != nil {
		return nil, err
	}
	out := jinja.NewList()
	ip := prefix.Addr()
	for range 1 << free {
		out.Items = append(out.Items, ipText(ip))
		ip = ip.Next()
	}
	switch {
	case free < 2:
	case prefix.Addr().Is4():
		out.Items = out.Items[1 : len(out.Items)-1]
	default:
		out.Items = out.Items[1:]
	}
	return out, nil
}

func sizeOf(_ *params, a address) (any, error) {
	prefix := a.prefix()
	return jinja.Import(new(big.Int).Lsh(big.NewInt(1),
		uint(prefix.Addr().BitLen()-prefix.Bits()))), nil
}

func genMAC(c *jinja.Call) (any, error) {
	p := bind(c, "gen_mac", "prefix=")
	prefix, err := c.Str(p.or(0, "AC:DE:48"))
	p.note(err)
	return fmt.Sprintf("%s:%02X:%02X:%02X", prefix, rand.IntN(256), rand.IntN(256),
		rand.IntN(256)), p.err
}

func macBytes(s string) (any, error) {
	switch len(s) {
	case 12:
	case 17:
		s = strings.ReplaceAll(s, s[2:3], "")
	default:
		return nil, jinja.Raise(jinja.ValueError, "Invalid MAC address")
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, jinja.Raise(jinja.ValueError, "invalid literal for int() with base 16: %s",
			data.Repr(s))
	}
	return b, nil
}

// dnsCheck resolves a name and returns the first of its addresses that can be connected to, or else
// the first one.
func dnsCheck(c *jinja.Call) (any, error) {
	p := bind(c, "dns_check", "addr", "port", "safe=", "ipv6=")
	name, port := p.text(0), p.number(1, 0)
	network := "ip"
	if v := p.or(3, nil); v != nil {
		if network = "ip4"; p.truth(3) {
			network = "ip6"
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	ips, err := net.DefaultResolver.LookupNetIP(c.Context(), network, name)
	if len(ips) == 0 && network == "ip6" {
		ips, err = net.DefaultResolver.LookupNetIP(c.Context(), "ip4", name)
	}
	if err != nil || len(ips) == 0 {
		return nil, jinja.Raise("SaltSystemExit",
			"DNS lookup or connection check of '%s' failed.", name)
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	for _, ip := range ips {
		conn, err := dialer.DialContext(c.Context(),
			"tcp", netip.AddrPortFrom(ip.Unmap(), uint16(port)).String())
		if err == nil {
			conn.Close()
			return bracket(ip.Unmap()), nil
		}
	}
	return bracket(ips[0].Unmap()), nil
}

func bracket(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ipText(ip) + "]"
	}
	return ipText(ip)
}

func ipWrap(c *jinja.Call, v any) (any, error) {
	if !isSequence(v) {
		return wrapOne(v)
	}
	items, err := c.Items(v)
	out := jinja.NewList()
	for _, item := range items {
		wrapped, failed := wrapOne(item)
		if failed != nil {
			return nil, failed
		}
		out.Items = append(out.Items, wrapped)
	}
	return out, err
}

// wrapOne rejects IPv6 networks, as Salt does.
func wrapOne(v any) (any, error) {
	a, ok := parseAddress(v)
	switch {
	case !ok || a.version() != 6:
		return v, nil
	case a.bits >= 0:
		return nil, jinja.Raise(jinja.ValueError,
			"%s does not appear to be an IPv4 or IPv6 address", data.Repr(plain(v)))
	}
	return bracket(a.ip), nil
}

func filterByNetworks(c *jinja.Call) (any, error) {
	p := bind(c, "filter_by_networks", "values", "networks")
	if p.err != nil || p.args[1] == nil {
		return p.args[0], p.err
	}
	var nets []netip.Prefix
	for _, n := range p.items(1) {
		a, ok := parseAddress(n)
		if ok && a.prefix().Addr() != a.ip {
			p.note(jinja.Raise(jinja.ValueError, "%s has host bits set", data.Str(plain(n))))
			continue
		}
		if !ok {
			p.note(jinja.Raise(jinja.ValueError, "%s does not appear to be an IPv4 or IPv6 network",
				data.Repr(plain(n))))
			continue
		}
		nets = append(nets, a.prefix())
	}
	m, ok := p.args[0].(*data.Map)
	if !ok {
		list, err := inNetworks(p, p.args[0], nets)
		p.note(err)
		return list, p.err
	}
	out := data.NewMap()
	for k, v := range m.All() {
		list, err := inNetworks(p, v, nets)
		p.note(err)
		out.Set(k, list)
	}
	return out, p.err
}

func inNetworks(p *params, v any, nets []netip.Prefix) (any, error) {
	items, err := p.c.Items(v)
	out := jinja.NewList()
	for _, item := range items {
		a, ok := parseAddress(item)
		if !ok || a.bits >= 0 {
			return nil, jinja.Raise(jinja.ValueError,
				"%s does not appear to be an IPv4 or IPv6 address", data.Repr(plain(item)))
		}
		for _, n := range nets {
			if n.Contains(a.ip.WithZone("")) {
				out.Items = append(out.Items, item)
			}
		}
	}
	return out, err
}

package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// network parses a network: an address alone, or with a prefix length or a netmask. If strict is
// true, host bits are an error.
func network(text string, strict bool) (netip.Prefix, error) {
	bad := loader.Exception("ValueError", "%s does not appear to be an IPv4 or IPv6 network",
		data.Repr(text))
	addr, mask, masked := strings.Cut(text, "/")
	ip, err := netip.ParseAddr(addr)
	if err != nil || ip.Zone() != "" {
		return netip.Prefix{}, bad
	}
	bits := ip.BitLen()
	if masked {
		if bits, err = prefixLength(mask, ip); err != nil {
			return netip.Prefix{}, bad
		}
	}
	n, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}, bad
	}
	if strict && n.Addr() != ip {
		return n, loader.Exception("ValueError", "%s has host bits set", text)
	}
	return n, nil
}

// prefixLength parses the part after the slash: a number, or for IPv4 a netmask or its inverse.
func prefixLength(mask string, ip netip.Addr) (int, error) {
	if n, err := strconv.ParseUint(mask, 10, 8); err == nil && !strings.HasPrefix(mask, "+") &&
		int(n) <= ip.BitLen() {
		return int(n), nil
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !ip.Is4() {
		return 0, fmt.Errorf("invalid netmask: %q", mask)
	}
	b := m.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	for _, v := range []uint32{v, ^v} {
		for bits := range 33 {
			if v == uint32(uint64(0xffffffff)<<(32-bits)) {
				return bits, nil
			}
		}
	}
	return 0, fmt.Errorf("invalid netmask: %q", mask)
}

// addressText returns the text of an address or network. A number below 2**32 is an IPv4 address.
func addressText(v any) string {
	if n, ok := v.(int64); ok && n >= 0 && n < 1<<32 {
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8),
			byte(n)}).String()
	}
	return data.Str(v)
}

// ip parses an address.
func ip(v any) (netip.Addr, error) {
	addr, err := netip.ParseAddr(addressText(v))
	if err != nil {
		return addr, loader.Exception("ValueError",
			"%s does not appear to be an IPv4 or IPv6 address", data.Repr(v))
	}
	return addr, nil
}

// last returns the last address of a network.
func last(n netip.Prefix) netip.Addr {
	b := n.Addr().AsSlice()
	for i := range b {
		for bit := range 8 {
			if i*8+bit >= n.Bits() {
				b[i] |= 0x80 >> bit
			}
		}
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// maskOf returns the netmask of a network as an address.
func maskOf(n netip.Prefix) netip.Addr {
	all := slices.Repeat([]byte{0xff}, n.Addr().BitLen()/8)
	ones, _ := netip.AddrFromSlice(all)
	p, _ := ones.Prefix(n.Bits())
	return p.Addr()
}

type calcNetArgs struct {
	IPAddr  any `name:"ip_addr"`
	Netmask any `default:"None"`
}

// calcNet returns the network of an address.
//
// netmask : None
//
//	The netmask or prefix length, unless the address has one.
//
// CLI Example:
//
//	salt '*' network.calc_net 172.17.0.5 255.255.255.240
//	salt '*' network.calc_net 2a02:f6e:a000:80:84d8:8332:7866:4e07/64
func (m *module) calcNet(_ context.Context, a calcNetArgs) (any, error) {
	text := addressText(a.IPAddr)
	if a.Netmask != nil {
		text = data.Str(a.IPAddr) + "/" + data.Str(a.Netmask)
	}
	n, err := network(text, false)
	if err != nil {
		return nil, err
	}
	return n.String(), nil
}

// convertCidr returns the network, the netmask and the broadcast address of an address with a
// prefix length.
//
// CLI Example:
//
//	salt '*' network.convert_cidr 172.31.0.0/16
func (m *module) convertCidr(_ context.Context, a cidrArgs) (any, error) {
	n, err := network(addressText(a.Cidr), false)
	if err != nil {
		return nil, err
	}
	return data.NewMap("network", n.Addr().String(), "netmask", maskOf(n).String(),
		"broadcast", last(n).String()), nil
}

// inSubnet reports whether the host has an address in a network.
//
// CLI Example:
//
//	salt '*' network.in_subnet 10.0.0.0/16
func (m *module) inSubnet(_ context.Context, a cidrArgs) (any, error) {
	v4, err := m.addresses(nil, false, true)
	if err != nil {
		return nil, err
	}
	v6, err := m.addresses(nil, false, false)
	return len(m.inside(append(v4, v6...), data.Str(a.Cidr))) > 0, err
}

type ipInSubnetArgs struct {
	IPAddr any `name:"ip_addr"`
	Cidr   any
}

// ipInSubnet reports whether an address, or one of a list, is in a network.
//
// CLI Example:
//
//	salt '*' network.ip_in_subnet 172.17.0.4 172.16.0.0/12
func (m *module) ipInSubnet(_ context.Context, a ipInSubnetArgs) (any, error) {
	list, ok := a.IPAddr.([]any)
	if !ok {
		list = []any{a.IPAddr}
	}
	n, err := network(addressText(a.Cidr), true)
	if err != nil {
		m.env.Log.Errorf("Invalid CIDR '%s'", data.Str(a.Cidr))
		return false, nil
	}
	for _, v := range list {
		addr, err := ip(v)
		if err != nil || n.Contains(addr) {
			return err == nil, err
		}
	}
	return false, nil
}

type ipArgs struct {
	IPAddr any `name:"ip_addr"`
}

// isLoopback reports whether an address is a loopback address.
//
// CLI Example:
//
//	salt '*' network.is_loopback 127.0.0.1
func (m *module) isLoopback(_ context.Context, a ipArgs) (any, error) {
	addr, err := ip(a.IPAddr)
	if err != nil {
		return nil, err
	}
	return addr.IsLoopback(), nil
}

// isPrivate reports whether an address is private.
//
// CLI Example:
//
//	salt '*' network.is_private 10.0.0.3
func (m *module) isPrivate(_ context.Context, a ipArgs) (any, error) {
	addr, err := ip(a.IPAddr)
	if err != nil {
		return nil, err
	}
	return private(addr), nil
}

// private reports whether an address is private in the registry of special-purpose addresses.
func private(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	return within(addr, "0.0.0.0/8 10.0.0.0/8 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 "+
		"203.0.113.0/24 240.0.0.0/4 ::1/128 ::/128 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10") &&
		!within(addr, "192.0.0.9/32 192.0.0.10/32 2001:1::1/128 2001:1::2/128 2001:3::/32 2001:4:112::/48 2001:20::/28 2001:30::/28")
}

// within reports whether an address is in one of the networks.
func within(addr netip.Addr, networks string) bool {
	return slices.ContainsFunc(strings.Fields(networks),
		func(n string) bool { return netip.MustParsePrefix(n).Contains(addr) })
}

// reverseIp returns the name for the reverse lookup of an address.
//
// CLI Example:
//
//	salt '*' network.reverse_ip 172.17.0.4
func (m *module) reverseIp(_ context.Context, a ipArgs) (any, error) {
	addr, err := ip(a.IPAddr)
	if err != nil {
		return nil, err
	}
	if addr.Is4() {
		parts := strings.Split(addr.String(), ".")
		slices.Reverse(parts)
		return strings.Join(parts, ".") + ".in-addr.arpa", nil
	}
	var b strings.Builder
	for _, c := range slices.Backward(addr.AsSlice()) {
		fmt.Fprintf(&b, "%x.%x.", c&15, c>>4)
	}
	return b.String() + "ip6.arpa", nil
}

type iphexvalArgs struct {
	IP string `name:"ip"`
}

// iphexval returns an IPv4 address in hexadecimal digits.
//
// CLI Example:
//
//	salt '*' network.iphexval 10.0.0.1
func (m *module) iphexval(_ context.Context, a iphexvalArgs) (any, error) {
	hex := ""
	for part := range strings.SplitSeq(a.IP, ".") {
		n, err := loader.Int(part)
		if err != nil {
			return nil, err
		}
		hex += fmt.Sprintf("%02X", n)
	}
	return hex, nil
}

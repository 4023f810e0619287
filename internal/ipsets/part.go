package ipsets

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A kind is the type of a set, with the options that change its members.
type kind struct {
	parts  []string // ip, net, port, mac, iface, mark or set
	bitmap bool
	prefix int    // addresses are cut to this length; -1 if they are not
	marks  uint64 // the bits of marks that count
}

func kindOf(info *data.Map) kind {
	method, names, _ := strings.Cut(info.Text("Type"), ":")
	k := kind{parts: strings.Split(names, ","), bitmap: method == "bitmap", prefix: -1, marks: math.MaxUint32}
	header := strings.Fields(info.Text("Header"))
	for i := range len(header) - 1 {
		switch n, err := strconv.ParseUint(header[i+1], 0, 32); {
		case err != nil:
		case header[i] == "netmask":
			k.prefix = int(n)
		case header[i] == "markmask":
			k.marks = n
		}
	}
	return k
}

// A part is a range of addresses, networks, a range of ports, a mark or any other text.
type part struct {
	text        string
	first, last netip.Addr // addresses
	cut         int        // bits that are cut from their ends
	nets        []netip.Prefix
	numbers     bool // ports and marks
	protocol    string
	low, high   uint64
}

// part parses a part of a member or an entry. What it cannot parse is a text.
func (k kind) part(name, text string) part {
	p, ok := part{}, false
	switch name {
	case "ip":
		p, ok = k.addresses(text)
	case "net":
		p, ok = networks(text)
	case "port":
		p, ok = k.ports(text)
	case "mark":
		n, err := strconv.ParseUint(text, 0, 32)
		p, ok = part{numbers: true, low: n & k.marks, high: n & k.marks}, err == nil
	case "mac":
		text = strings.ToUpper(text)
	}
	if !ok {
		return part{text: text}
	}
	return p
}

// span returns the first and the last address of an address, a network or a range, of which the ends
// may be in any order.
func span(text string) (first, last netip.Addr, ok bool) {
	address := func(text string) netip.Addr {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return netip.Addr{}
		}
		return a
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().Addr(), end(prefix), true
	}
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	first, last = address(from), address(to)
	if first.Compare(last) > 0 {
		first, last = last, first
	}
	return first, last, first.IsValid() && first.BitLen() == last.BitLen()
}

// end returns the last address of a network.
func end(p netip.Prefix) netip.Addr {
	octets := p.Addr().AsSlice()
	for i := p.Bits(); i < len(octets)*8; i++ {
		octets[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(octets)
	return a
}

func (k kind) addresses(text string) (part, bool) {
	first, last, ok := span(text)
	p := part{first: first, last: last}
	if ok && k.prefix >= 0 && k.prefix <= first.BitLen() {
		p.cut = first.BitLen() - k.prefix
		p.first = netip.PrefixFrom(first, k.prefix).Masked().Addr()
		p.last = netip.PrefixFrom(last, k.prefix).Masked().Addr()
	}
	return p, ok
}

// networks returns the networks that make up a range.
func networks(text string) (part, bool) {
	first, last, ok := span(text)
	if !ok {
		return part{}, false
	}
	p := part{}
	for address := first; ; {
		net := netip.PrefixFrom(address, address.BitLen())
		for net.Bits() > 0 {
			wider := netip.PrefixFrom(address, net.Bits()-1)
			if wider.Masked().Addr() != address || end(wider).Compare(last) > 0 {
				break
			}
			net = wider
		}
		p.nets = append(p.nets, net)
		if end(net) == last {
			return p, true
		}
		address = end(net).Next()
	}
}

// ports parses ports with or without their protocol. Those of a bitmap have none.
func (k kind) ports(text string) (part, bool) {
	p := part{numbers: true, protocol: "tcp"}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		p.protocol, text = protocol(text[:i]), text[i+1:]
	}
	from, to, ranged := strings.Cut(text, "-")
	var ok bool
	if p.low, ok = port(p.protocol, text); ok {
		p.high = p.low
	} else if ranged {
		var other bool
		p.low, ok = port(p.protocol, from)
		p.high, other = port(p.protocol, to)
		ok = ok && other
	}
	p.low, p.high = min(p.low, p.high), max(p.low, p.high)
	if k.bitmap {
		p.protocol = ""
	}
	return p, ok
}

// protocol returns the name under which the program lists a protocol.
func protocol(name string) string {
	name = strings.ToLower(name)
	for _, p := range [][]string{{"icmp", "1"}, {"tcp", "6"}, {"udp", "17"}, {"gre", "47"}, {"esp", "50"},
		{"ah", "51"},
		{"ipv6-icmp", "58", "icmpv6", "icmp6"}, {"vrrp", "112"}, {"sctp", "132"}, {"udplite", "136"}} {
		if slices.Contains(p, name) {
			return p[0]
		}
	}
	return name
}

// port returns the number of a port, or of the type and the code of a message of ICMP.
func port(protocol, text string) (uint64, bool) {
	if protocol == "icmp" || protocol == "ipv6-icmp" {
		return message(protocol, text)
	}
	if n, err := strconv.ParseUint(text, 0, 16); err == nil {
		return n, true
	}
	if protocol != "tcp" && protocol != "udp" || text == "" {
		return 0, false
	}
	n, err := net.DefaultResolver.LookupPort(context.Background(), protocol, text)
	return uint64(n), err == nil
}

func message(protocol, text string) (uint64, bool) {
	names := icmp
	if protocol == "ipv6-icmp" {
		names = icmpv6
	}
	for line := range strings.Lines(names) {
		if words := strings.Fields(line); slices.Contains(words[1:], text) {
			text = words[0]
		}
	}
	kind, code, ok := strings.Cut(text, "/")
	k, err := strconv.ParseUint(kind, 0, 8)
	c, other := strconv.ParseUint(code, 0, 8)
	return k<<8 | c, ok && err == nil && other == nil
}

// The types and codes of messages of ICMP by their names in ipset (lib/icmp.c and lib/icmpv6.c).
const (
	icmp = `0/0 echo-reply pong
3/0 network-unreachable
3/1 host-unreachable
3/2 protocol-unreachable
3/3 port-unreachable
3/4 fragmentation-needed
3/5 source-route-failed
3/6 network-unknown
3/7 host-unknown
3/9 network-prohibited
3/10 host-prohibited
3/11 TOS-network-unreachable
3/12 TOS-host-unreachable
3/13 communication-prohibited
3/14 host-precedence-violation
3/15 precedence-cutoff
4/0 source-quench
5/0 network-redirect
5/1 host-redirect
5/2 TOS-network-redirect
5/3 TOS-host-redirect
8/0 echo-request ping
9/0 router-advertisement
10/0 router-solicitation
11/0 ttl-zero-during-transit
11/1 ttl-zero-during-reassembly
12/0 ip-header-bad
12/1 required-option-missing
13/0 timestamp-request
14/0 timestamp-reply
17/0 address-mask-request
18/0 address-mask-reply`
	icmpv6 = `1/0 no-route
1/1 communication-prohibited
1/3 address-unreachable
1/4 port-unreachable
2/0 packet-too-big
3/0 ttl-zero-during-transit
3/1 ttl-zero-during-reassembly
4/0 bad-header
4/1 unknown-header-type
4/2 unknown-option
128/0 echo-request ping
129/0 echo-reply pong
133/0 router-solicitation
134/0 router-advertisement
135/0 neighbour-solicitation neigbour-solicitation
136/0 neighbour-advertisement neigbour-advertisement
137/0 redirect`
)

// covers reports whether another part is one of those that this one stands for.
func (p part) covers(one part) bool {
	switch {
	case p.first.IsValid():
		return one.first.IsValid() && one.first.BitLen() == p.first.BitLen() &&
			p.first.Compare(one.first) <= 0 && one.last.Compare(p.last) <= 0
	case len(p.nets) > 0:
		return len(one.nets) == 1 && slices.Contains(p.nets, one.nets[0])
	case p.numbers:
		return one.numbers && one.protocol == p.protocol && p.low <= one.low && one.high <= p.high
	}
	return one.text == p.text && one.size() == 1 && !one.first.IsValid() && !one.numbers && len(one.nets) == 0
}

// contains reports whether an address is in the network of a member.
func (p part) contains(address part) bool {
	return len(p.nets) == 1 && len(address.nets) == 1 && address.nets[0].IsSingleIP() &&
		p.nets[0].Contains(address.nets[0].Addr())
}

// bits returns the length of the prefix of a network.
func (p part) bits() int {
	if len(p.nets) != 1 {
		return 0
	}
	return p.nets[0].Bits()
}

// size returns how many addresses, networks or ports a part stands for.
func (p part) size() uint64 {
	switch {
	case p.first.IsValid():
		a, b := p.first.As16(), p.last.As16()
		if [8]byte(a[:8]) != [8]byte(b[:8]) {
			return math.MaxUint64
		}
		n := (binary.BigEndian.Uint64(b[8:]) - binary.BigEndian.Uint64(a[8:])) >> p.cut
		return max(n, n+1) // the last one would be 0
	case len(p.nets) > 0:
		return uint64(len(p.nets))
	case p.numbers:
		return p.high - p.low + 1
	}
	return 1
}

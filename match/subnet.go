package match

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A subnetNode is an address or a network that must contain one of a minion's addresses (grain ipv4
// or ipv6).
type subnetNode struct {
	grain  string
	single bool
	addr   netip.Addr
	net    netip.Prefix
}

// newSubnet parses an ipcidr target as strictly as Python's ipaddress module: a network must have
// no host bits.
func newSubnet(text string) (node, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return &subnetNode{grain: family(a), single: true, addr: a}, nil
	}
	p, err := parseNetwork(text)
	if err != nil {
		return nil, fmt.Errorf("%w: ip address or network %q: %w", ErrMalformed, clip(text), err)
	}
	return &subnetNode{grain: family(p.Addr()), net: p}, nil
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

func parseNetwork(text string) (netip.Prefix, error) {
	base, mask, ok := strings.Cut(text, "/")
	if !ok {
		return netip.Prefix{}, fmt.Errorf("neither an address nor a network")
	}
	a, err := netip.ParseAddr(base)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("bad address")
	}
	n, err := parseMask(mask, a)
	if err != nil {
		return netip.Prefix{}, err
	}
	p := netip.PrefixFrom(a.WithZone(""), n)
	if p.Masked().Addr() != a {
		return netip.Prefix{}, fmt.Errorf("has host bits set")
	}
	return p, nil
}

// parseMask parses a prefix length, or for IPv4 a net mask or host mask.
func parseMask(s string, a netip.Addr) (int, error) {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		n, err := strconv.Atoi(s)
		if err != nil || n > a.BitLen() {
			return 0, fmt.Errorf("prefix length %s is too long", clip(s))
		}
		return n, nil
	}
	m, err := netip.ParseAddr(s)
	if err != nil || !m.Is4() || !a.Is4() {
		return 0, fmt.Errorf("bad mask %q", clip(s))
	}
	b := m.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	for _, v := range []uint32{v, ^v} {
		if ones := bits.LeadingZeros32(^v); v == ^uint32(0)<<(32-ones) {
			return ones, nil
		}
	}
	return 0, fmt.Errorf("bad mask %s", s)
}

func (n *subnetNode) match(s *subject) bool {
	if named, done := s.decided(); done {
		return named
	}
	switch v := s.grains.Value(n.grain).(type) {
	case []any:
		return n.any(v)
	case data.Tuple:
		return n.any(v)
	case string:
		return n.has(v)
	}
	return false
}

func (n *subnetNode) any(list []any) bool {
	for _, v := range list {
		if text, ok := v.(string); ok && n.has(text) {
			return true
		}
	}
	return false
}

func (n *subnetNode) has(text string) bool {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	if n.single {
		return a == n.addr
	}
	return n.net.Contains(a.WithZone(""))
}

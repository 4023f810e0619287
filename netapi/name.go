package netapi

import (
	"net/netip"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// sameName returns the form of a user's name by which two spellings of one user are equal. Directories
// such as LDAP take ANN, " ann" and full-width letters for ann (RFC 4518).
func sameName(user string) string {
	user = cases.Fold().String(norm.NFKC.String(user))
	user = strings.Map(func(r rune) rune {
		switch r {
		case '\u00ad', '\u034f', '\u1806', '\ufeff', '\ufffc', '\u200b', '\u200c', '\u200d', '\u2060':
			return -1 // they are invisible
		}
		return r
	}, user)
	return strings.Join(strings.Fields(norm.NFKC.String(user)), " ")
}

// AddressOf returns the address in one of a connection, such as 10.0.0.1:4711; the zero Addr if it is none.
func AddressOf(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}

// Network returns the network by which an address counts: an address of IPv4, the /64 of one of IPv6.
// The zero Prefix stands for no address.
func Network(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := 64
	if from.Is4() || from.IsLoopback() {
		bits = from.BitLen()
	}
	p, err := from.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

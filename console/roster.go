package console

import (
	"net/netip"
	"time"

	"github.com/brineproject/brine/data"
)

// A rosterAsk asks for a page of the accepted minions.
type rosterAsk struct {
	tgt       any
	kind      string
	after     string
	limit     int
	grains    []string
	connected any // true and false select; nil does not
}

// A roster is a page of the accepted minions, with the totals of its target.
type roster struct {
	total, connected int
	members          []member
	next             string // last id of the page, if there are more
}

// A member is a minion in a roster.
type member struct {
	id        string
	connected bool
	since     time.Time // zero if that is unknown
	address   string
	grains    *data.Map
}

// firstAddress returns the first address among grains that is not of the host itself.
func firstAddress(grains *data.Map) string {
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, text := range data.TextsOf(grains.Value(family)) {
			ip, err := netip.ParseAddr(text)
			if err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
				return ip.String()
			}
		}
	}
	return ""
}

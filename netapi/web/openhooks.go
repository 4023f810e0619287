package web

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/brineproject/brine/netapi"
)

// Deliveries to hooks that need neither a login nor a secret, in each span of time.
const (
	openSpan       = 10 * time.Second
	openOfNetwork  = 100
	openOfAll      = 1_000
	textManyEvents = "Too many events of hooks without a login: try again in some seconds"
)

// openHooks counts the deliveries that anybody may send.
type openHooks struct {
	now func() time.Time

	mu    sync.Mutex
	until time.Time // of the current span
	all   int
	from  map[netip.Prefix]int
}

// admit counts a delivery from an address. The error is a *netapi.Fault if there are too many. Those of this
// host count only among all, because a proxy may stand there.
func (o *openHooks) admit(from netip.Addr) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); !now.Before(o.until) {
		o.until, o.all, o.from = now.Add(openSpan), 0, map[netip.Prefix]int{}
	}
	network := netapi.Network(from)
	if o.all >= openOfAll || o.from[network] >= openOfNetwork && !from.IsLoopback() {
		return &netapi.Fault{Status: http.StatusTooManyRequests, Text: textManyEvents,
			RetryAfter: o.until.Sub(o.now())}
	}
	o.all++
	o.from[network]++
	return nil
}

package serve

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/brineproject/brine/netapi"
)

// Bodies limits the memory of the bodies that are being read and answered, in bytes: those of all clients,
// and of one network. It may be shared by the servers of a program. It is safe for concurrent use.
type Bodies struct {
	all, network, here int64 // here: clients on this host, among them those of a proxy

	mu   sync.Mutex
	used int64
	from map[netip.Prefix]int64
}

// NewBodies returns Bodies with which a body of largest bytes can be read, whatever others there are of its
// network.
func NewBodies(largest int64) *Bodies {
	return &Bodies{all: max(64<<20, 4*largest), network: max(16<<20, 2*largest), here: max(48<<20, 3*largest),
		from: map[netip.Prefix]int64{}}
}

// take counts some bytes. The error is a *netapi.Fault, and then nothing is counted.
func (b *Bodies) take(from netip.Prefix, n int64) error {
	most := b.network
	if from.Addr().IsLoopback() {
		most = b.here
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.from[from]+n > most:
		return &netapi.Fault{Status: http.StatusTooManyRequests, Text: "Too many request bodies from this network at a time"}
	case b.used+n > b.all:
		return &netapi.Fault{Status: http.StatusServiceUnavailable, Text: "Too many request bodies at a time"}
	}
	b.used += n
	b.from[from] += n
	return nil
}

// give takes some bytes out of the count.
func (b *Bodies) give(from netip.Prefix, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.from[from] -= n; b.from[from] <= 0 {
		delete(b.from, from)
	}
}

// aBody is about what a request with a body costs besides the body and its header, in bytes.
const aBody = 4 << 10

// weight returns what a request costs besides its body.
func weight(r *http.Request) int64 {
	n := int64(aBody + len(r.RequestURI))
	for name, values := range r.Header {
		for _, v := range values {
			n += int64(len(name) + len(v))
		}
	}
	return n
}

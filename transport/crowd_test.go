package transport

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// A crowdRig enters connections into a Crowd.
type crowdRig struct{ crowd *Crowd }

// A watched connection knows whether it was closed.
type watched struct {
	net.Conn
	closed bool
}

func (w *watched) Close() error { w.closed = true; return nil }

// enter returns a new connection and its place, nil when it was refused.
func (r *crowdRig) enter(source string, subscriber bool) (*watched, *Place) {
	w := &watched{}
	return w, r.crowd.Enter(w, netip.MustParseAddr(source), subscriber)
}

// TestUnknownAddressHasAShare connects from one network: a quarter of the places is its, until it
// has proved itself.
func TestUnknownAddressHasAShare(t *testing.T) {
	r := crowdRig{NewCrowd(20, nil)}
	var places []*Place
	for i := range 8 {
		if _, p := r.enter(fmt.Sprintf("2001:db8::%x", i), i%2 == 0); (p == nil) != (i >= 5) {
			t.Errorf("connection %d: refused = %v", i, p == nil)
		} else if p != nil {
			places = append(places, p)
		}
	}
	if _, p := r.enter("192.0.2.1", true); p == nil {
		t.Error("another address is refused")
	}
	places[0].Leave()
	places[0].Leave()
	if _, p := r.enter("2001:db8::f", false); p == nil {
		t.Error("a place that was given back is not free")
	}
	r.crowd.Prove(netip.MustParseAddr("2001:db8::1"))
	for i := range 5 {
		if _, p := r.enter("2001:db8::1", true); p == nil {
			t.Errorf("connection %d of a known network is refused", i)
		}
	}
	if n := r.crowd.Open(); n != 11 {
		t.Errorf("%d are open, want 11", n)
	}
}

// TestSubscribersWithoutProofGoFirst fills a Crowd from unknown addresses: above 80 % the oldest
// subscribers go, then the others, and never those of a known address.
func TestSubscribersWithoutProofGoFirst(t *testing.T) {
	r := crowdRig{NewCrowd(10, nil)}
	r.crowd.Prove(netip.MustParseAddr("192.0.2.1"))
	kept := map[string]*watched{}
	for i := range 4 {
		kept[fmt.Sprint("of a known address ", i)], _ = r.enter("192.0.2.1", true)
	}
	request, _ := r.enter("198.51.100.1", false)
	first, _ := r.enter("198.51.100.2", true)
	kept["a subscriber that proves itself"], _ = r.enter("198.51.100.3", true)
	second, _ := r.enter("198.51.100.4", true)
	r.crowd.Prove(netip.MustParseAddr("198.51.100.3"))
	for i := range 4 { // two push out subscribers, the others fill the rest
		if _, p := r.enter("192.0.2.1", false); p == nil {
			t.Errorf("request connection %d of a known address is refused", i)
		}
	}
	if n := r.crowd.Open(); n != 10 {
		t.Errorf("%d are open, want 10", n)
	}
	if _, p := r.enter("192.0.2.1", false); p == nil || r.crowd.Open() != 10 {
		t.Errorf("the last: refused = %v, %d are open", p == nil, r.crowd.Open())
	}
	if _, p := r.enter("192.0.2.1", false); p != nil {
		t.Error("a connection above the limit, with known ones alone, is not refused")
	}
	for name, conn := range map[string]*watched{"first subscriber": first,
		"second subscriber": second, "requester": request} {
		if !conn.closed {
			t.Errorf("the %s is not closed", name)
		}
	}
	for name, conn := range kept {
		if conn.closed {
			t.Errorf("%s: closed", name)
		}
	}
}

func TestNilCrowdBoundsNothing(t *testing.T) {
	var c *Crowd
	if c.Most() != 0 || c.Open() != 0 {
		t.Errorf("%d of %d connections", c.Open(), c.Most())
	}
	c.Enter(nil, netip.Addr{}, false).Leave()
}

package channel

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }

// TestThreatAuthenticationFloodIsFair lets one address come a thousand times before another: it
// still has its turn second.
func TestThreatAuthenticationFloodIsFair(t *testing.T) {
	l := newLine(1)
	join := func(i int) *place {
		t.Helper()
		p, err := l.join(addr(i), 100)
		must(t, err)
		return p
	}
	working := join(1)
	var flood []*place
	for range 1000 {
		flood = append(flood, join(1))
	}
	honest := join(2)
	if err := l.wait(t.Context(), working); err != nil {
		t.Fatal(err)
	}
	l.leave()
	l.leave()
	for _, p := range []*place{flood[0], honest} {
		select {
		case <-p.ready:
		default:
			t.Fatal("after two turns one of both addresses still waits for its first")
		}
	}
}

// A full line makes room for an address with less places than another, whose last ones go.
func TestThreatAuthenticationFloodIsBounded(t *testing.T) {
	for name, size := range map[string]int{"in number": 1, "in bytes": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			l := newLine(1)
			_, err := l.join(addr(9), 1) // has the turn
			must(t, err)
			var flood []*place
			for {
				p, err := l.join(addr(1), size)
				if err != nil {
					break
				}
				flood = append(flood, p)
			}
			if l.length > lineLength || l.bytes > lineBytes || len(flood) != l.length {
				t.Fatalf("%d places, %d bytes for %d sign-ins", l.length, l.bytes, len(flood))
			}
			honest, err := l.join(addr(2), size)
			must(t, err)
			last := flood[len(flood)-1]
			if err := l.wait(t.Context(), last); !errors.Is(err, errBusy) {
				t.Errorf("the last of the flood: %v, want errBusy", err)
			}
			for range 3 {
				l.leave()
			}
			must(t, l.wait(t.Context(), honest))
		})
	}
}

func TestLineWithAbandonedPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1)
		_, err := l.join(addr(1), 1)
		must(t, err)
		var waiting sync.WaitGroup
		for i := range 300 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			p, err := l.join(addr(i%7), 1)
			must(t, err)
			waiting.Go(func() {
				defer cancel()
				if l.wait(ctx, p) == nil {
					t.Error("a turn that nobody gave up")
				}
			})
		}
		waiting.Wait()
		if l.length != 0 || l.bytes != 0 || len(l.order) != 0 || len(l.queues) != 0 {
			t.Errorf("after all have gone: %d places, %d bytes, %d addresses, %d queues", l.length,
				l.bytes, len(l.order), len(l.queues))
		}
		if l.leave(); l.free != 1 {
			t.Errorf("%d turns are free, want 1", l.free)
		}
	})
}

// fill takes the only turn, and gives places to sign-ins of one size, each of the next address
// after a.
func fill(t *testing.T, l *line, a netip.Addr, n, size int) {
	t.Helper()
	if l.length == 0 {
		_, err := l.join(addr(250), 1)
		must(t, err)
	}
	for range n {
		_, err := l.join(a, size)
		must(t, err)
		a = a.Next()
	}
}

// A host with an IPv6 network of its own has as many addresses as the line has places.
func TestThreatOneNetworkIsOneSource(t *testing.T) {
	for _, honest := range []string{"192.0.2.2", "2001:db8:0:1::1", "::ffff:192.0.2.3"} {
		l := newLine(1)
		fill(t, l, netip.MustParseAddr("2001:db8::1"), lineLength, 2000)
		if _, err := l.join(netip.MustParseAddr(honest), 2000); err != nil {
			t.Errorf("%s finds no place beside a network that takes all: %v", honest, err)
		}
	}
	l := newLine(1)
	fill(t, l, netip.MustParseAddr("::ffff:192.0.2.1"), 2, 2000)
	if len(l.queues) != 2 {
		t.Errorf("two IPv4 addresses in the form of IPv6 are %d sources, want 2", len(l.queues))
	}
}

// Those who bring much give way where bytes are short, however few places they have.
func TestThreatLargeSignInsFillNoLine(t *testing.T) {
	l := newLine(1)
	fill(t, l, netip.MustParseAddr("198.51.100.0"), lineBytes/maxSignIn, maxSignIn)
	for i := range 300 {
		if _, err := l.join(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 2000); err != nil {
			t.Fatalf("honest sign-in %d: %v", i, err)
		}
	}
	if l.bytes > lineBytes || len(l.queues) != l.length {
		t.Errorf("%d bytes, %d places of %d sources", l.bytes, l.length, len(l.queues))
	}
	if _, err := l.join(addr(1), lineBytes); !errors.Is(err, errBusy) {
		t.Errorf("one that brings more than all others: %v, want errBusy", err)
	}
}

// One that finds no place sends nobody away.
func TestThreatRefusedComerEvictsNobody(t *testing.T) {
	for _, size := range []int{lineBytes + 1, lineBytes, lineBytes - 1000*2000} {
		l := newLine(1)
		for i := range 2 {
			for range 500 {
				fill(t, l, addr(i), 1, 2000)
			}
		}
		_, err := l.join(addr(3), size)
		if want := lineBytes - 1000*2000; (err == nil) != (size == want) || err != nil && l.length != 1000 {
			t.Errorf("one of %d bytes: %v, and %d of 1000 wait on", size, err, l.length)
		}
	}
}

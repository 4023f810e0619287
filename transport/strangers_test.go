package transport

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		s := NewStrangers(400)
		take := func(from netip.Addr, n, want int) {
			t.Helper()
			began := time.Now()
			taken, ok := s.Take(from, n, time.Minute)
			if taken != want || ok != (want > 0) {
				t.Errorf("Take(%s, %d) = %d, %v, want %d", from, n, taken, ok, want)
			}
			if waited := time.Since(began); want > 0 && waited > 0 || want == 0 && waited != time.Minute {
				t.Errorf("Take(%s, %d) waited for %v", from, n, waited)
			}
		}
		take(one, 60, 60)
		take(one, 60, 0)       // above the quarter of one address
		take(other, 1000, 100) // a message above the quarter has all of that
		take(netip.MustParseAddr("2001:db8:0:1::1"), 100, 100)
		take(netip.MustParseAddr("2001:db8:0:1::2"), 1, 0) // of the same network
		take(netip.MustParseAddr("2001:db8:0:2::2"), 100, 100)
		take(netip.MustParseAddr("192.0.2.3"), 41, 0) // 360 are in use

		served := make(chan bool)
		wait := func(from netip.Addr) {
			_, ok := s.Take(from, 100, time.Minute)
			served <- ok
		}
		go wait(other)
		synctest.Wait()
		s.Give(other, 100)
		if !<-served {
			t.Error("who waits does not get what is given back")
		}
		go wait(other)
		synctest.Wait()
		if s.Close(); <-served {
			t.Error("who waits gets room at the end")
		}
		if _, ok := NewStrangers(-1).Take(one, 1<<40, time.Minute); !ok {
			t.Error("room without a limit is short")
		}
		if s.Give(one, 60); len(s.by) != 3 {
			t.Errorf("%d addresses are kept, want 3", len(s.by))
		}
	})
}

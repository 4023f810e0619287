package auth

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func loginFrom(addr, name, password string) Credentials {
	c := login(name, password)
	c.From = &net.TCPAddr{IP: net.ParseIP(addr), Port: 4711}
	return c
}

// TestFloodFromOneAddress floods a slow system with logins from one address, with one name and with
// many: who logs in from another address, also with that name, waits no longer than the system
// takes.
func TestFloodFromOneAddress(t *testing.T) {
	for what, name := range map[string]func(int) string{
		"one name":   func(int) string { return "fred" },
		"many names": func(i int) string { return fmt.Sprint("user", i) },
	} {
		for _, flood := range []func(int) string{
			func(int) string { return "203.0.113.7" },
			func(i int) string { return fmt.Sprintf("2001:db8::%x", i) },
		} {
			synctest.Test(t, func(t *testing.T) {
				p := somebody()
				p.takes = 5 * time.Second
				g := newGate(t, options(t, p))
				var all sync.WaitGroup
				for i := range 2 * loginsWaiting {
					all.Go(func() { _, _ = g.Identify(t.Context(), loginFrom(flood(i), name(i), "wrong")) })
				}
				synctest.Wait()
				if n := len(p.logins()); n > sourceAtOnce {
					t.Errorf("%s from %s: the system is asked %d times at once", what, flood(1), n)
				}
				start := time.Now()
				if _, err := g.Identify(t.Context(),
					loginFrom("198.51.100.1", "fred", "secret")); err != nil || time.Since(start) != p.takes {
					t.Errorf("%s from %s: a login from elsewhere: %v after %v", what, flood(1), err,
						time.Since(start))
				}
				all.Wait()
				if n := len(g.pace.budgets); n != 0 {
					t.Errorf("%s: %d budgets are kept", what, n)
				}
			})
		}
	}
}

// TestFloodForOneName floods one name from many addresses: others still get in.
func TestFloodForOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := somebody()
		p.takes = 5 * time.Second
		g := newGate(t, options(t, p))
		var all sync.WaitGroup
		for i := range 2 * loginsWaiting {
			all.Go(func() {
				_, _ = g.Identify(t.Context(),
					loginFrom(fmt.Sprintf("203.0.%d.%d", i/250, i%250), "fred", "wrong"))
			})
		}
		synctest.Wait()
		start := time.Now()
		if _, err := g.NewToken(t.Context(), loginFrom("198.51.100.1", "ann", "pw"),
			nil); err != nil || time.Since(start) != p.takes {
			t.Errorf("another name: %v after %v", err, time.Since(start))
		}
		all.Wait()
	})
}

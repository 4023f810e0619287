package transport

import (
	"net/netip"
	"sync"
	"time"
)

const (
	trustLasts = time.Hour
	trustHolds = 1 << 16 // addresses remembered
)

// Sources remembers the addresses of authenticated peers for an hour each, at most 65 536 of them.
// When it is full some are forgotten, whose peers only have lower limits on their next connection.
type Sources struct {
	mu    sync.Mutex
	until map[netip.Addr]time.Time
}

// Trust records an address.
func (s *Sources) Trust(a netip.Addr) {
	if !a.IsValid() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[netip.Addr]time.Time{}
	}
	if _, known := s.until[a]; !known && len(s.until) >= trustHolds {
		s.forget()
	}
	s.until[a] = time.Now().Add(trustLasts)
}

// forget removes expired addresses, or any one if none has expired.
func (s *Sources) forget() {
	now := time.Now()
	for a, until := range s.until {
		if until.Before(now) {
			delete(s.until, a)
		}
	}
	for a := range s.until {
		if len(s.until) < trustHolds {
			return
		}
		delete(s.until, a)
	}
}

// Trusted reports whether an address was recorded during the last hour.
func (s *Sources) Trusted(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[a])
}

package transport

import (
	"net/netip"
	"sync"
	"time"
)

// Strangers bounds the memory that large messages of peers that have proved nothing take while they arrive. A message gets all of its
// room before it is read, and waits for it where there is none: what it has sent meanwhile lies in the system's buffers. One address
// has a quarter of the room; in IPv6 a network of 64 bits counts as one. The nil Strangers bounds nothing; several goroutines may use
// Strangers.
type Strangers struct {
	limit int // negative for none

	mu     sync.Mutex
	used   int
	by     map[netip.Prefix]int
	freed  chan struct{} // closed when room becomes free
	closed bool
}

// NewStrangers returns room of n bytes, without a limit if n is negative.
func NewStrangers(n int) *Strangers {
	return &Strangers{limit: n, by: map[netip.Prefix]int{}, freed: make(chan struct{})}
}

// Take reserves n bytes for a message from an address, or the quarter where that is less. It waits for them, but not longer than its
// patience, where that is more than 0. What it returns is to be given back; ok is false where there was no room in time.
func (s *Strangers) Take(from netip.Addr, n int, patience time.Duration) (taken int, ok bool) {
	if s == nil || s.limit < 0 {
		return 0, true
	}
	source, share := NetworkOf(from), s.limit/4
	n = min(n, share)
	var end <-chan time.Time
	for {
		freed, done := s.try(source, n, share)
		if freed == nil {
			return n, done
		}
		if end == nil && patience > 0 {
			t := time.NewTimer(patience)
			defer t.Stop()
			end = t.C
		}
		select {
		case <-freed:
		case <-end:
			return 0, false
		}
	}
}

// try reserves n bytes, or returns a channel that is closed when it is worth to try again.
func (s *Strangers) try(source netip.Prefix, n, share int) (freed <-chan struct{}, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if s.used+n > s.limit || s.by[source]+n > share {
		return s.freed, false
	}
	s.used += n
	s.by[source] += n
	return nil, true
}

// Give returns what Take reserved for an address.
func (s *Strangers) Give(from netip.Addr, n int) {
	if n == 0 {
		return
	}
	source := NetworkOf(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.by[source] -= n; s.by[source] <= 0 {
		delete(s.by, source)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

// Close ends the wait of all, who get no room any more.
func (s *Strangers) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.freed)
		s.freed = make(chan struct{})
	}
}

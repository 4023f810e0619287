package transport

import (
	"container/heap"
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// Strangers bounds the memory that large messages of peers that have proved nothing take while they arrive. A message gets all of its
// room before it is read, and waits for it where there is none: what it has sent meanwhile lies in the system's buffers. One address
// has a quarter of the room; in IPv6 a network of 64 bits counts as one. The nil Strangers bounds nothing; several goroutines may use
// Strangers.
//
// The messages of one network get their room in the order in which they came. The networks whose next message fits their quarter take
// turns: none is served before the one whose turn it is, and one that got room goes to the end.
type Strangers struct {
	limit int // negative for none

	mu     sync.Mutex
	used   int
	turns  uint64 // number of the last turn
	by     map[netip.Prefix]*sender
	next   byTurn // the senders whose first waiter fits their quarter: they wait for room of all
	closed bool
}

// A sender is one network that has room or waits for some.
type sender struct {
	used  int
	queue list.List // of *waiter, in order of arrival
	turn  uint64
	at    int // place in next, or outside
}

// A waiter is one message that waits for room.
type waiter struct {
	sender  *sender
	place   *list.Element // in the sender's queue
	n       int           // bytes
	granted bool
	ready   chan struct{} // closed once room is granted or refused
}

// outside is the place of a sender that is not in byTurn.
const outside = -1

// NewStrangers returns room of n bytes, without a limit if n is negative.
func NewStrangers(n int) *Strangers {
	return &Strangers{limit: n, by: map[netip.Prefix]*sender{}}
}

// Take reserves n bytes for a message from an address, or the quarter where that is less. It waits for them, but not longer than its
// patience, where that is more than 0. What it returns is to be given back; ok is false where there was no room in time.
func (s *Strangers) Take(from netip.Addr, n int, patience time.Duration) (taken int, ok bool) {
	if s == nil || s.limit < 0 {
		return 0, true
	}
	n = min(n, s.quarter())
	source := NetworkOf(from)
	w := s.join(source, n)
	var end <-chan time.Time
	if patience > 0 && w.waits() {
		t := time.NewTimer(patience)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-w.ready:
	case <-end:
		s.leave(source, w)
	}
	if !w.granted {
		return 0, false
	}
	return n, true
}

// join queues a message behind those that came before it, and serves it at once where nobody is before it and there is room.
func (s *Strangers) join(source netip.Prefix, n int) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{n: n, ready: make(chan struct{})}
	if s.closed || n <= 0 {
		w.granted = !s.closed
		close(w.ready)
		return w
	}
	w.sender = s.by[source]
	if w.sender == nil {
		w.sender = &sender{at: outside}
		s.by[source] = w.sender
	}
	w.place = w.sender.queue.PushBack(w)
	s.settle(w.sender)
	return w
}

// waits reports whether a waiter has no answer yet.
func (w *waiter) waits() bool {
	select {
	case <-w.ready:
		return false
	default:
		return true
	}
}

// leave takes a waiter whose patience has ended out of its queue. One that was granted or refused in that moment stays so.
func (s *Strangers) leave(source netip.Prefix, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.waits() {
		return
	}
	w.sender.queue.Remove(w.place)
	s.settle(w.sender)
	s.drop(source, w.sender)
}

// Give returns what Take reserved for an address.
func (s *Strangers) Give(from netip.Addr, n int) {
	if n == 0 {
		return
	}
	source := NetworkOf(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.by[source]
	s.used -= n
	c.used -= n
	s.settle(c)
	s.drop(source, c)
}

// drop forgets a sender that has no room and waits for none.
func (s *Strangers) drop(source netip.Prefix, c *sender) {
	if c.used == 0 && c.queue.Len() == 0 {
		delete(s.by, source)
	}
}

// settle is called when the room of a sender or its queue has changed. It gives room to those whose turn it is.
func (s *Strangers) settle(changed *sender) {
	s.line(changed)
	for len(s.next) > 0 {
		w := s.next[0].first()
		if s.used+w.n > s.limit {
			return // those behind it may be smaller, but would keep it waiting
		}
		s.used += w.n
		w.sender.used += w.n
		w.sender.queue.Remove(w.place)
		w.granted = true
		close(w.ready)
		s.endTurn(w.sender)
		s.line(w.sender)
	}
}

// endTurn puts a sender behind all others that wait.
func (s *Strangers) endTurn(c *sender) {
	s.turns++
	c.turn = s.turns
}

// quarter is what one network may have at once.
func (s *Strangers) quarter() int { return max(s.limit/4, 1) }

// line puts a sender in next, behind all others where it is new there, or takes it out.
func (s *Strangers) line(c *sender) {
	w := c.first()
	switch fits := w != nil && c.used+w.n <= s.quarter(); {
	case fits && c.at == outside:
		s.endTurn(c)
		heap.Push(&s.next, c)
	case fits:
		heap.Fix(&s.next, c.at)
	case c.at != outside:
		heap.Remove(&s.next, c.at)
	}
}

// Close ends the wait of all, who get no room any more.
func (s *Strangers) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.next = true, nil
	for source, c := range s.by {
		for w := c.first(); w != nil; w = c.first() {
			c.queue.Remove(w.place)
			close(w.ready)
		}
		c.at = outside
		s.drop(source, c)
	}
}

// first returns the waiter of a sender whose turn is next, or nil.
func (c *sender) first() *waiter {
	if e := c.queue.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

// byTurn is a heap of senders: the one whose turn it is is on top.
type byTurn []*sender

func (q byTurn) Len() int           { return len(q) }
func (q byTurn) Less(i, j int) bool { return q[i].turn < q[j].turn }
func (q byTurn) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *byTurn) Push(x any) {
	c := x.(*sender)
	c.at = len(*q)
	*q = append(*q, c)
}

func (q *byTurn) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	c.at = outside
	return c
}

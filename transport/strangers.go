package transport

import (
	"container/heap"
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// Strangers limits the memory for large incoming messages of unauthenticated peers. A message
// reserves its full size before it is read, and waits if there is no room; unread data stays in the
// system's buffers. One address may use a quarter of the room; in IPv6 a /64 network counts as one
// address. A nil Strangers imposes no limit. It is safe for concurrent use.
//
// Messages of one network are served in order of arrival. Networks whose next message fits their
// quarter take turns: none is served out of turn, and a network that was served moves to the end.
type Strangers struct {
	limit int // negative means no limit

	mu     sync.Mutex
	used   int
	turns  uint64 // number of the last turn
	by     map[netip.Prefix]*sender
	next   byTurn // senders whose first waiter fits their quarter and only waits for total room
	closed bool
}

// A sender is a network that uses or waits for room.
type sender struct {
	used  int
	queue list.List // of *waiter, in order of arrival
	turn  uint64
	at    int // position in next, or outside
}

// A waiter is a message waiting for room.
type waiter struct {
	sender  *sender
	place   *list.Element // in the sender's queue
	n       int           // bytes
	granted bool
	ready   chan struct{} // closed when room is granted or refused
}

// outside is the position of a sender that is not in next.
const outside = -1

// NewStrangers returns n bytes of room. A negative n means no limit.
func NewStrangers(n int) *Strangers {
	return &Strangers{limit: n, by: map[netip.Prefix]*sender{}}
}

// Take reserves n bytes for a message from an address, or a quarter of the room if that is less. It
// waits for them, but at most for patience if that is positive. The caller must return taken with
// Give. ok is false if there was no room in time.
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

// join queues a message behind earlier ones, and serves it at once if it is first and there is
// room.
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

// waits reports whether a waiter is still undecided.
func (w *waiter) waits() bool {
	select {
	case <-w.ready:
		return false
	default:
		return true
	}
}

// leave removes a waiter whose patience has ended. If it was granted or refused at that moment,
// that decision stands.
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

// Give returns room reserved by Take.
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

// drop forgets a sender that neither uses nor waits for room.
func (s *Strangers) drop(source netip.Prefix, c *sender) {
	if c.used == 0 && c.queue.Len() == 0 {
		delete(s.by, source)
	}
}

// settle grants room in turn after the usage or queue of a sender has changed.
func (s *Strangers) settle(changed *sender) {
	s.line(changed)
	for len(s.next) > 0 {
		w := s.next[0].first()
		if s.used+w.n > s.limit {
			return // smaller messages behind it must not overtake it
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

// endTurn moves a sender behind all others that wait.
func (s *Strangers) endTurn(c *sender) {
	s.turns++
	c.turn = s.turns
}

// quarter is the maximum that one network may use.
func (s *Strangers) quarter() int { return max(s.limit/4, 1) }

// line adds a sender to the end of next, or removes it.
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

// Close refuses room to all waiters.
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

// first returns the first waiter of a sender, or nil.
func (c *sender) first() *waiter {
	if e := c.queue.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

// byTurn is a heap of senders with the next turn on top.
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

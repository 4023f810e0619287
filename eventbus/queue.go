package eventbus

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is returned by Next when its reader is closed and has no more events.
var ErrClosed = errors.New("event reader is closed")

// Default limits of a reader's queue.
const (
	defaultQueueEvents = 16 << 10
	defaultQueueBytes  = 16 << 20
)

// A queue is the bounded event queue of one reader.
type queue struct {
	maxEvents, maxBytes int
	wake                chan struct{} // holds a token while events may be available
	// direct, if not nil, writes a frame to the reader without blocking and returns the number of
	// bytes written. It saves waking the goroutine in take, and is called only while that goroutine
	// waits on an empty queue.
	direct func(frame []byte) int
	// notice, if not nil, returns an event that reports n dropped events. The reader gets it at the gap
	notice func(n uint64) Event

	mu       sync.Mutex
	ring     []Event
	head, n  int
	bytes    int
	ahead    int  // events before the first gap without a notice; 0 means that there is no such gap
	idle     bool // a goroutine waits in take
	closed   bool
	behind   bool   // an event was dropped since caughtUp last reported drops
	dropped  uint64 // total
	reported uint64 // value of dropped when the reader last caught up
	noticed  uint64 // value of dropped in the last notice
}

func newQueue(maxEvents, maxBytes int) *queue {
	if maxEvents <= 0 {
		maxEvents = defaultQueueEvents
	}
	if maxBytes <= 0 {
		maxBytes = defaultQueueBytes
	}
	return &queue{maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
}

// put adds an event if there is room. fellBehind is true for the first event dropped since the
// reader last caught up.
func (q *queue) put(e Event) (fellBehind bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.n > 0 && (q.n >= q.maxEvents || q.bytes+e.size() > q.maxBytes) {
		q.dropped++
		if q.notice != nil && q.ahead == 0 {
			q.ahead = q.n
		}
		fellBehind, q.behind = !q.behind, true
		return fellBehind
	}
	if q.n == 0 && q.idle && q.direct != nil {
		done := q.direct(e.frame)
		if done == len(e.frame) {
			return false
		}
		e.frame = e.frame[done:]
	}
	q.push(e)
	if q.n == 1 {
		q.signal()
	}
	return false
}

// push adds an event. The caller must hold the lock.
func (q *queue) push(e Event) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)%len(q.ring)] = e
	q.n++
	q.bytes += e.size()
}

func (q *queue) grow() {
	ring := make([]Event, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)%len(q.ring)]
	}
	q.ring, q.head = ring, 0
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// pop removes the oldest event. The caller must hold the lock, and the queue must not be empty.
func (q *queue) pop() Event {
	e := q.ring[q.head]
	q.ring[q.head] = Event{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	q.bytes -= e.size()
	if q.ahead > 0 {
		if q.ahead--; q.ahead == 0 {
			q.report()
		}
	}
	if q.n == 0 && len(q.ring) > 1024 {
		q.ring, q.head = nil, 0
	}
	return e
}

// report makes the notice of all drops so far the next event, in the place of the one that pop has just
// removed. Later gaps that are in the queue already need no further notice. The caller must hold the lock.
func (q *queue) report() {
	e := q.notice(q.dropped - q.noticed)
	q.noticed = q.dropped
	q.head = (q.head + len(q.ring) - 1) % len(q.ring)
	q.ring[q.head] = e
	q.n++
	q.bytes += e.size()
}

// take moves events of up to size bytes in total, but at least one, to dst. It waits for the first
// one until ctx ends.
func (q *queue) take(ctx context.Context, dst []Event, size int) ([]Event, error) {
	for {
		q.mu.Lock()
		for q.n > 0 && (len(dst) == 0 || size > q.ring[q.head].size() && len(dst) < cap(dst)) {
			dst = append(dst, q.pop())
			size -= dst[len(dst)-1].size()
		}
		closed := q.closed
		q.idle = len(dst) == 0 && !closed
		if q.n > 0 || closed {
			q.signal() // for the next caller
		}
		q.mu.Unlock()
		switch {
		case len(dst) > 0:
			return dst, nil
		case closed:
			return nil, ErrClosed
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next removes and returns one event.
func (q *queue) next(ctx context.Context) (Event, error) {
	var one [1]Event
	got, err := q.take(ctx, one[:0], 0)
	if err != nil {
		return Event{}, err
	}
	return got[0], nil
}

// caughtUp returns the number of events dropped since the last call. It returns 0 while the queue
// is not empty or nothing was dropped.
func (q *queue) caughtUp() (dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.behind || q.n > 0 {
		return 0
	}
	dropped, q.reported, q.behind = q.dropped-q.reported, q.dropped, false
	return dropped
}

func (q *queue) drops() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// close accepts no more events. Queued events can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// discard closes the queue and drops its events.
func (q *queue) discard() {
	q.mu.Lock()
	q.closed, q.ring, q.head, q.n, q.bytes, q.ahead = true, nil, 0, 0, 0, 0
	q.mu.Unlock()
	q.signal()
}

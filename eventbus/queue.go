package eventbus

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is returned by Next when its reader was closed and all that it held has been read.
var ErrClosed = errors.New("event reader is closed")

// Bounds of a reader's queue unless options say otherwise.
const (
	defaultQueueEvents = 16 << 10
	defaultQueueBytes  = 16 << 20
)

// A queue holds events for one reader, within bounds.
type queue struct {
	maxEvents, maxBytes int
	wake                chan struct{} // holds a token while there may be something to take
	// direct, which may be nil, gives a frame to the reader without waiting, and returns how many bytes it took. It
	// spares the wake-up of who takes from the queue, and is called only while that one waits on an empty queue.
	direct func(frame []byte) int

	mu       sync.Mutex
	ring     []Event
	head, n  int
	bytes    int
	idle     bool // someone waits in take
	closed   bool
	behind   bool   // something was dropped since the queue was last empty
	dropped  uint64 // ever
	reported uint64 // of dropped, when the reader had last caught up
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

// put adds an event if there is room. fellBehind is true for the first one that is dropped since the reader had
// last caught up.
func (q *queue) put(e Event) (fellBehind bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.n > 0 && (q.n >= q.maxEvents || q.bytes+e.size() > q.maxBytes) {
		q.dropped++
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
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)%len(q.ring)] = e
	q.n++
	q.bytes += e.size()
	if q.n == 1 {
		q.signal()
	}
	return false
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

// pop takes the oldest event. The caller holds the lock and knows that there is one.
func (q *queue) pop() Event {
	e := q.ring[q.head]
	q.ring[q.head] = Event{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	q.bytes -= e.size()
	if q.n == 0 && len(q.ring) > 1024 {
		q.ring, q.head = nil, 0
	}
	return e
}

// take moves events of up to size bytes, at least one, to dst. It waits for the first one until ctx ends.
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
			q.signal() // for whoever comes next
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

// next takes one event.
func (q *queue) next(ctx context.Context) (Event, error) {
	var one [1]Event
	got, err := q.take(ctx, one[:0], 0)
	if err != nil {
		return Event{}, err
	}
	return got[0], nil
}

// caughtUp returns, once after something was dropped and the queue has become empty, how much it was.
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

// close lets no more events in; those that are queued can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// discard closes the queue and drops what is in it.
func (q *queue) discard() {
	q.mu.Lock()
	q.closed, q.ring, q.head, q.n, q.bytes = true, nil, 0, 0, 0
	q.mu.Unlock()
	q.signal()
}

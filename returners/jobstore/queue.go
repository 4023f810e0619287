package jobstore

import (
	"context"
	"errors"
	"sync"
)

// How much one transaction takes, so that nobody waits long for its end.
const (
	batchChanges = 512
	batchBytes   = 4 << 20
)

var errClosed = errors.New("job cache is closed")

// A change is what one caller wants to be written.
type change struct {
	size int // bytes, about

	// do writes it, in a transaction with others. It may run again after a failure. The error is for what the file
	// could not do; then all that do wrote is undone.
	do func(f *file) error
	// after runs when the change is durable, in the order of the transactions; may be nil.
	after func()

	done chan error
}

// A queue holds the changes that wait for the writer.
type queue struct {
	mu      sync.Mutex
	waiting []*change
	closed  bool
	wake    chan struct{} // has room for one
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// do hands c to the writer and waits until it is durable. When ctx ends before the writer has begun with it, it is
// taken back; after that its end is awaited, so that the caller is told what became of it.
func (q *queue) do(ctx context.Context, c *change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.done = make(chan error, 1)
	if !q.put(c) {
		return errClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if q.withdraw(c) {
			return ctx.Err()
		}
		return <-c.done
	}
}

func (q *queue) put(c *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, c)
	q.notify()
	return true
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) withdraw(c *change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == c {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// take waits for changes and returns those of one transaction, or none when the queue is closed and empty.
func (q *queue) take() []*change {
	for {
		if batch, over := q.cut(); len(batch) > 0 || over {
			return batch
		}
		<-q.wake
	}
}

func (q *queue) cut() (batch []*change, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.waiting) && n < batchChanges && bytes < batchBytes {
		bytes += q.waiting[n].size
		n++
	}
	batch = append(batch, q.waiting[:n]...)
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return batch, q.closed
}

// close lets the writer end after what waits.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notify()
}

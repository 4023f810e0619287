package jobstore

import (
	"context"
	"errors"
	"sync"
)

// Limits of one transaction, so that no caller waits long for its end.
const (
	batchChanges = 512
	batchBytes   = 4 << 20
)

var errClosed = errors.New("job cache is closed")

// A change is a write that one caller requested.
type change struct {
	size int // approximate, in bytes

	// do performs the change in a transaction with others. It may run again after a failure. The
	// error is for failures of the file; everything that do wrote is then undone.
	do func(f *file) error
	// after runs when the change is durable, in the order of the transactions; may be nil.
	after func()
	// check reports damage if it does not find what do wrote, in the same transaction. Of several
	// changes only the last one is checked; may be nil.
	check func(f *file) error

	done chan error
}

// A queue holds the pending changes for the writer.
type queue struct {
	mu      sync.Mutex
	waiting []*change
	closed  bool
	wake    chan struct{} // has capacity one
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// do queues c and waits until it is durable. If ctx ends before the writer has started c, it is
// withdrawn; after that do waits for the end, so that the caller learns the result.
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

// take waits for changes and returns those of one transaction, or none if the queue is closed and
// empty.
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

// close ends the writer after the pending changes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notify()
}

package transport

import (
	"context"
	"sync"
)

// feedBytes is the maximum size of pending publications in a feed.
const feedBytes = 64 << 20

// A Feed passes publications to one goroutine in order, all pending ones at a time. Transports
// distribute the subscribers of a publisher over a few feeds.
type Feed[P any] struct {
	size func(*P) int // in bytes
	done chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	pending []P
	bytes   int
	running bool
}

// NewFeed returns a feed that is not started. size returns the memory used by a publication in
// bytes.
func NewFeed[P any](size func(*P) int) *Feed[P] {
	f := &Feed[P]{size: size, done: make(chan struct{})}
	f.changed.L = &f.mu
	return f
}

// Start starts to call deliver with publications. deliver must not retain the slice. Call Start at
// most once.
func (f *Feed[P]) Start(deliver func([]P)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = true
	go f.run(deliver)
}

// Finish makes the feed deliver what is pending and then end.
func (f *Feed[P]) Finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = false
	f.changed.Broadcast()
}

// Settle waits until everything added before Finish is delivered, or ctx ends.
func (f *Feed[P]) Settle(ctx context.Context) {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}

// Add queues a publication. If feedBytes are pending it waits for deliver, which never blocks.
func (f *Feed[P]) Add(p P) {
	n := f.size(&p)
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.running && f.bytes > 0 && f.bytes+n > feedBytes {
		f.changed.Wait()
	}
	if !f.running {
		return
	}
	f.pending = append(f.pending, p)
	f.bytes += n
	f.changed.Broadcast()
}

func (f *Feed[P]) run(deliver func([]P)) {
	defer close(f.done)
	var work []P
	for {
		if work = f.take(work[:0]); len(work) == 0 {
			return
		}
		deliver(work)
		clear(work)
	}
}

func (f *Feed[P]) take(into []P) []P {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.running && len(f.pending) == 0 {
		f.changed.Wait()
	}
	taken := f.pending
	f.pending, f.bytes = into, 0
	f.changed.Broadcast()
	return taken
}

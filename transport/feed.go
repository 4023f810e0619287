package transport

import (
	"context"
	"sync"
)

// feedBytes is how much may be pending in a feed.
const feedBytes = 64 << 20

// A Feed hands what is published to one goroutine, in order, and at a time all that is pending. Transports deal the
// subscribers of a publisher to a few feeds.
type Feed[P any] struct {
	size func(*P) int // in bytes
	done chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	pending []P
	bytes   int
	running bool
}

// NewFeed returns a feed that takes nothing yet; size tells how many bytes of memory a publication takes.
func NewFeed[P any](size func(*P) int) *Feed[P] {
	f := &Feed[P]{size: size, done: make(chan struct{})}
	f.changed.L = &f.mu
	return f
}

// Start begins to hand publications to deliver, which must not keep the slice. It may be called once.
func (f *Feed[P]) Start(deliver func([]P)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = true
	go f.run(deliver)
}

// Finish lets the feed hand on what is pending, and end.
func (f *Feed[P]) Finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = false
	f.changed.Broadcast()
}

// Settle waits until what was published before Finish has been handed on, or ctx ends.
func (f *Feed[P]) Settle(ctx context.Context) {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}

// Add queues a publication. It waits when very much is pending: for deliver, which waits for nobody.
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

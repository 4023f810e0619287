package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// mostTogether is how many returns share an entry at most.
	mostTogether = 128
	// togetherBytes is how many bytes they have.
	togetherBytes = 128 << 10
	// perReturn is what a return adds to its entry besides its bytes, at most.
	perReturn = 8
	// mostBatches is how many entries are being stored at a time.
	mostBatches = 4
	// slowBatch is how long the storing of an entry may take before the next one does not wait for it.
	slowBatch = 100 * time.Millisecond
)

// A gatherer stores values that are added at the same time together: while some are being stored, others
// wait, and go next. A value that comes alone does not wait.
type gatherer struct {
	store func(ctx context.Context, bodies [][]byte) (sequence uint64, err error)
	limit func() int // bytes that may be stored together

	mu      sync.Mutex
	waiting []*gathered
	bytes   int // of waiting
	workers int
	begun   time.Time // when the last batch began
}

// A gathered value waits to be stored, or is being stored.
type gathered struct {
	body  []byte
	taken bool   // it does not wait any more: a worker stores it next, or is storing it
	left  bool   // nobody waits for it any more
	in    *batch // nil until it is being stored
	done  chan stored
}

// A batch is what is being stored together. It ends when nobody waits for it.
type batch struct {
	waiters int
	end     context.CancelFunc
}

// add stores a value with others, and returns the sequence under which all of them are.
func (g *gatherer) add(ctx context.Context, body []byte) (uint64, error) {
	v := &gathered{body: body, done: make(chan stored, 1)}
	if g.enter(v) {
		go g.work()
	}
	select {
	case s := <-v.done:
		return s.sequence, s.err
	case <-ctx.Done():
	}
	g.leave(v)
	select {
	case s := <-v.done: // both were ready
		return s.sequence, s.err
	default:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// enter lets a value wait, and reports whether it needs another worker.
func (g *gatherer) enter(v *gathered) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, v)
	g.bytes += len(v.body)
	switch {
	case g.workers == 0:
	case g.workers == mostBatches:
		return false
	case len(g.waiting) >= mostTogether, g.bytes >= togetherBytes, time.Since(g.begun) > slowBatch:
	default:
		return false
	}
	g.workers++
	return true
}

// leave notes that nobody waits for a value any more.
func (g *gatherer) leave(v *gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v.left = true
	switch {
	case !v.taken:
		g.bytes -= len(v.body)
		v.body = nil
	case v.in == nil: // begin leaves it out
	default:
		if v.in.waiters--; v.in.waiters == 0 {
			v.in.end()
		}
	}
}

// work stores what waits, until nothing does.
func (g *gatherer) work() {
	for values := g.next(); len(values) > 0; values = g.next() {
		g.run(values)
	}
}

// next takes the values that are stored next. With none the worker ends.
func (g *gatherer) next() (values []*gathered) {
	limit := min(togetherBytes, g.limit())
	g.mu.Lock()
	defer g.mu.Unlock()
	size, taken := 0, 0
	for _, v := range g.waiting {
		if !v.left {
			size += len(v.body) + perReturn
			if len(values) > 0 && (size > limit || len(values) == mostTogether) {
				break
			}
			g.bytes -= len(v.body)
			v.taken = true
			values = append(values, v)
		}
		taken++
	}
	clear(g.waiting[:taken])
	if g.waiting = g.waiting[taken:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	if len(values) == 0 {
		g.workers--
	}
	return values
}

// run stores values together, or each alone if they are too large together.
func (g *gatherer) run(values []*gathered) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	bodies := g.begin(values, end)
	if len(bodies) == 0 {
		return
	}
	sequence, err := g.store(ctx, bodies)
	if errors.Is(err, ErrTooLarge) && len(values) > 1 {
		for i := range values {
			g.run(values[i : i+1])
		}
		return
	}
	for _, v := range values {
		v.done <- stored{sequence: sequence, err: err}
	}
}

// begin makes values a batch, and returns their bodies without those of values that nobody waits for.
func (g *gatherer) begin(values []*gathered, end context.CancelFunc) (bodies [][]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &batch{end: end}
	for _, v := range values {
		if !v.left {
			v.in = b
			b.waiters++
			bodies = append(bodies, v.body)
		}
	}
	g.begun = time.Now()
	return bodies
}

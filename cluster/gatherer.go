package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	// mostTogether is how many returns share an entry at most.
	mostTogether = 128
	// togetherBytes is how many bytes they have, unless one alone has more.
	togetherBytes = 128 << 10
	// perReturn is what a return adds to its entry besides its bytes, at most.
	perReturn = 8
)

// A gatherer stores values that are added at the same time together: while some are being stored, others
// wait, and go next. A value that comes alone does not wait.
type gatherer struct {
	store func(ctx context.Context, bodies [][]byte) (sequence uint64, err error)
	limit func() int // bytes that may be stored together

	mu      sync.Mutex
	waiting []*gathered
	busy    bool
}

// A gathered value waits to be stored, or is being stored.
type gathered struct {
	body []byte
	left bool   // nobody waits for it any more
	in   *batch // nil until it is being stored
	done chan stored
}

// A batch is what is being stored together. It ends when nobody waits for it.
type batch struct {
	waiters int
	end     context.CancelFunc
}

// add stores a value with others, and returns the sequence under which all of them are.
func (g *gatherer) add(ctx context.Context, body []byte) (uint64, error) {
	v := &gathered{body: body, done: make(chan stored, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, v)
	begin := !g.busy
	g.busy = true
	g.mu.Unlock()
	if begin {
		go g.work()
	}
	select {
	case s := <-v.done:
		return s.sequence, s.err
	case <-ctx.Done():
		g.leave(v)
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// leave notes that nobody waits for a value any more.
func (g *gatherer) leave(v *gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.in == nil {
		v.left, v.body = true, nil
		return
	}
	if v.in.waiters--; v.in.waiters == 0 {
		v.in.end()
	}
}

// work stores what waits, until nothing does.
func (g *gatherer) work() {
	for {
		ctx, end := context.WithCancel(context.Background())
		values, bodies := g.next(end)
		if len(values) == 0 {
			end()
			return
		}
		sequence, err := g.store(ctx, bodies)
		for i, v := range values {
			if errors.Is(err, ErrTooLarge) && len(values) > 1 { // alone it may not be
				one, err := g.store(ctx, bodies[i:i+1])
				v.done <- stored{sequence: one, err: err}
				continue
			}
			v.done <- stored{sequence: sequence, err: err}
		}
		end()
	}
}

// next takes the values that are stored next. With none the work ends.
func (g *gatherer) next(end context.CancelFunc) (values []*gathered, bodies [][]byte) {
	limit := min(togetherBytes, g.limit())
	g.mu.Lock()
	defer g.mu.Unlock()
	b, size, taken := &batch{end: end}, 0, 0
	for _, v := range g.waiting {
		if !v.left {
			size += len(v.body) + perReturn
			if len(bodies) > 0 && (size > limit || len(bodies) == mostTogether) {
				break
			}
			v.in = b
			values, bodies = append(values, v), append(bodies, v.body)
		}
		taken++
	}
	clear(g.waiting[:taken])
	g.waiting = g.waiting[taken:]
	b.waiters = len(values)
	g.busy = len(values) > 0
	if !g.busy {
		g.waiting = nil
	}
	return values, bodies
}

package master

import (
	"context"
	"sync"
)

// mostOfOne is how many requests of one source may wait for their turn, the one at work among them.
const mostOfOne = 16

// turns give each source one turn at a time, so that a crowd of one takes no places of others.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

// A turn is that of one source.
type turn struct {
	users int           // at work or waiting
	free  chan struct{} // holds one thing while nobody is at work
}

func newTurns() *turns { return &turns{of: map[string]*turn{}} }

// take waits for the turn of a source, which give ends. The error is errOwnPillarLine where too many of the source wait already, or
// why ctx has ended.
func (t *turns) take(ctx context.Context, source string) (give func(), err error) {
	own, ok := t.join(source)
	if !ok {
		return nil, errOwnPillarLine
	}
	select {
	case <-own.free:
		return func() { own.free <- struct{}{}; t.leave(source, own) }, nil
	case <-ctx.Done():
		t.leave(source, own)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) join(source string) (*turn, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[source]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.of[source] = own
	}
	if own.users >= mostOfOne {
		return nil, false
	}
	own.users++
	return own, true
}

func (t *turns) leave(source string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, source)
	}
}

package master

import (
	"context"
	"sync"
)

// maxPerSource is how many requests of one source may wait or run.
const maxPerSource = 16

// turns run one request of each source at a time, so that a busy source takes no slots from others.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

// A turn is the turn of one source.
type turn struct {
	users int           // requests that run or wait
	free  chan struct{} // has an element while no request runs
}

func newTurns() *turns { return &turns{of: map[string]*turn{}} }

// take waits for the turn of a source; release ends it. The error is errOwnPillarQueue if too many
// requests of the source wait already, or the cause of ctx's end.
func (t *turns) take(ctx context.Context, source string) (release func(), err error) {
	own, ok := t.join(source)
	if !ok {
		return nil, errOwnPillarQueue
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
	if own.users >= maxPerSource {
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

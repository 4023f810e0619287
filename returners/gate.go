package returners

import (
	"context"
	"errors"
	"sync"
)

var errClosed = errors.New("job cache is closed")

// A Gate lets calls use a store until it is closed. Several goroutines may use it.
type Gate struct {
	mu     sync.RWMutex // read-locked while the store is used
	closed bool
}

// Enter begins a use of the store; the caller must call end. It fails if ctx has ended or the store
// is closed.
func (g *Gate) Enter(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return nil, errClosed
	}
	return g.mu.RUnlock, nil
}

// Close waits for running calls and releases the store. Later calls of Close do nothing.
func (g *Gate) Close(release func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	return release()
}

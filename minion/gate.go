package minion

import (
	"context"
	"sync"
)

// A gate is open while the master is known to accept the minion. Goroutines that must not sign in
// themselves wait for it to open.
type gate struct {
	mu     sync.Mutex
	open   bool
	opened chan struct{} // closed while it is open
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open == g.open:
		return
	case open:
		close(g.opened)
	default:
		g.opened = make(chan struct{})
	}
	g.open = open
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// wait waits until the gate is open or ctx ends; then it returns the error of ctx.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-opened:
		return nil
	}
}

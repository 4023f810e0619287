package swarm

import (
	"context"
	"sync"

	"github.com/brineproject/brine/transport"
)

// A carrier is a requester whose connection can be replaced by one to another master. Until the first
// use, and after Close, its requests fail.
type carrier struct {
	mu  sync.Mutex
	out transport.Requester // nil if there is none
}

var _ transport.Requester = (*carrier)(nil)

// use replaces the connection. Requests that wait for replies over the one before fail.
func (c *carrier) use(out transport.Requester) {
	c.mu.Lock()
	before := c.out
	c.out = out
	c.mu.Unlock()
	if before != nil {
		before.Close() // it only ends waiting requests
	}
}

// Do sends a request over the present connection.
func (c *carrier) Do(ctx context.Context, body []byte) ([]byte, error) {
	c.mu.Lock()
	out := c.out
	c.mu.Unlock()
	if out == nil {
		return nil, transport.ErrClosed
	}
	return out.Do(ctx, body)
}

// Close closes the present connection.
func (c *carrier) Close() error {
	c.use(nil)
	return nil
}

// A gate is open or closed. The zero value is closed.
type gate struct {
	mu   sync.Mutex
	open bool
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Calls tracks the pending requests of a [Requester] by number, and the connection that they use. S
// is the type of a connection; its zero value means none. Transports build their requesters on it.
// It is safe for concurrent use.
type Calls[ID, S comparable] struct {
	addr string
	next func(taken func(ID) bool) ID
	want func()
	done <-chan struct{}

	mu      sync.Mutex
	up      chan struct{} // closed while there is a connection
	session S
	calls   map[ID]chan<- answer
}

type answer struct {
	body []byte
	err  error
}

// NewCalls returns the calls of a requester that connects to addr, until done is closed. next
// returns a request number that is not taken; it is never called concurrently. want, if not nil, is
// called when a request needs a connection and there is none.
func NewCalls[ID, S comparable](
	addr string, done <-chan struct{}, next func(taken func(ID) bool) ID, want func(),
) *Calls[ID, S] {
	if want == nil {
		want = func() {}
	}
	return &Calls[ID, S]{addr: addr, next: next, want: want, done: done, up: make(chan struct{}),
		calls: map[ID]chan<- answer{}}
}

// Do waits for a connection, queues a request with send, and returns the reply.
func (c *Calls[ID, S]) Do(
	ctx context.Context, send func(ctx context.Context, s S, id ID) error,
) ([]byte, error) {
	for {
		s, err := c.await(ctx)
		if err != nil {
			return nil, err
		}
		id, reply := c.enter(s)
		if reply == nil {
			continue // the connection was lost in the meantime
		}
		if err := send(ctx, s, id); err != nil {
			c.leave(id)
			return nil, err
		}
		return c.receive(ctx, id, reply)
	}
}

// await waits for a connection.
func (c *Calls[ID, S]) await(ctx context.Context) (S, error) {
	var none S
	for {
		c.mu.Lock()
		s, up := c.session, c.up
		if s == none {
			c.want()
		}
		c.mu.Unlock()
		if s != none {
			return s, nil
		}
		select {
		case <-up:
		case <-ctx.Done():
			return none, fmt.Errorf("wait for connection to %s: %w", c.addr, ctx.Err())
		case <-c.done:
			return none, ErrClosed
		}
	}
}

// enter registers a request and returns its number. The channel is nil if s is no longer the
// current connection.
func (c *Calls[ID, S]) enter(s S) (id ID, reply <-chan answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != s {
		return id, nil
	}
	id = c.next(func(id ID) bool { return c.calls[id] != nil })
	ch := make(chan answer, 1)
	c.calls[id] = ch
	return id, ch
}

func (c *Calls[ID, S]) leave(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

func (c *Calls[ID, S]) receive(ctx context.Context, id ID, reply <-chan answer) ([]byte, error) {
	select {
	case a := <-reply:
		return a.body, a.err
	case <-ctx.Done():
		c.leave(id)
		return nil, ctx.Err()
	}
}

// Connect sets the current connection.
func (c *Calls[ID, S]) Connect(s S) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	close(c.up)
}

// Lose reports the loss of the connection and returns the session's error: ErrClosed if ctx, the
// session's context, has ended, else err. All pending requests fail with that error.
func (c *Calls[ID, S]) Lose(ctx context.Context, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none S
	c.session, c.up = none, make(chan struct{})
	if ctx.Err() != nil {
		c.fail(ErrClosed)
		return ErrClosed
	}
	c.fail(fmt.Errorf("%w: %w", ErrDisconnected, err))
	return err
}

func (c *Calls[ID, S]) fail(err error) {
	for id, ch := range c.calls {
		ch <- answer{err: err}
		delete(c.calls, id)
	}
}

// Answer delivers a reply to the request with that number. It drops the reply if nobody waits for
// it.
func (c *Calls[ID, S]) Answer(id ID, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.calls[id]; ch != nil {
		ch <- answer{body: body}
		delete(c.calls, id)
	}
}

// SendRequest sends a request given as two pieces, like [Outbox.SendParts]. If the queue is full,
// it waits until there is room or ctx ends. It returns ErrDisconnected if the connection has ended.
func (o *Outbox) SendRequest(ctx context.Context, b, tail []byte) error {
	for {
		_, err := o.SendParts(b, tail)
		switch {
		case errors.Is(err, ErrGone):
			return ErrDisconnected
		case !errors.Is(err, ErrQueueFull):
			return err
		}
		if err := o.Drained(ctx); err != nil {
			return err
		}
	}
}

package tcp

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// clientRoom is the memory, in bytes, that is kept for the next request of a client at rest. Most requests fit.
const clientRoom = 2 << 10

// A Replier answers the requests of the request port; see [transport.Replier].
type Replier struct {
	*server
	handler transport.Handler
	crew    *transport.Crew[*request]
	known   transport.Sources
}

// NewReplier returns a replier on a listener, which it owns from then on. A nil t is no TLS.
func NewReplier(l net.Listener, o transport.Options, t *TLS) *Replier {
	s := &Replier{server: newServer(l, o, t)}
	s.crew = transport.NewCrew(s.opts.Workers, s.answer)
	return s
}

// Serve answers requests with h until ctx ends.
func (s *Replier) Serve(ctx context.Context, h transport.Handler) error {
	err := s.serve(ctx, func() { s.handler = h }, s.converse)
	if err == nil && !s.crew.Dismiss(time.Second) { // by now the context of the handlers has ended
		s.log.Warn("handlers of requests do not end; going on without them")
	}
	return err
}

// A client is one connection of a replier.
type client struct {
	*peer
	server   *Replier
	ctx      context.Context
	session  atomic.Value // of type held
	slots    chan struct{}
	inFlight sync.WaitGroup
}

type held struct{ v any }

// converse takes the requests of one peer and gives them to the workers.
func (s *Replier) converse(ctx context.Context, p *peer) error {
	ctx, cancel := context.WithCancel(transport.WithAside(ctx, s.crew))
	defer cancel()
	c := &client{peer: p, server: s, ctx: ctx, slots: make(chan struct{}, s.inFlight())}
	source := transport.SourceOf(p.remote())
	p.trusted.Store(!source.IsValid() || s.known.Trusted(source))
	p.expect, p.idle = true, c.checkIdle
	p.frames.SetRoom(clientRoom)
	for {
		frame, err := p.next()
		if err == nil {
			p.settled()
			err = c.take(frame)
		}
		if err == errDraining || p.draining.Load() {
			return c.settle()
		}
		if err != nil {
			return err
		}
	}
}

func (s *Replier) inFlight() int {
	if s.limits.MaxInFlight < 0 {
		return 1 << 30 // places in the channel take no memory
	}
	return s.limits.MaxInFlight
}

// checkIdle closes a peer that we do not know and that asks nothing.
func (c *client) checkIdle(quiet time.Duration) error {
	limit := c.server.limits.IdleTimeout
	if limit <= 0 || quiet < limit || c.trusted.Load() || len(c.slots) > 0 {
		return nil
	}
	return errIdle
}

// settle waits for the requests in work, so that their replies still go out.
func (c *client) settle() error {
	settled := make(chan struct{})
	go func() {
		c.inFlight.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-c.ctx.Done():
	}
	return errDraining
}

// take gives one message to a worker, and waits for one if need be: more is read from this peer only then.
func (c *client) take(f payload.Frame) error {
	if f.Head == nil {
		return fmt.Errorf("request without a head: %w", transport.ErrProtocol)
	}
	r := &request{client: c, head: f.Head, body: f.Body}
	c.server.counters.Received.Add(1)
	if err := waiting(c.ctx, c.slots, struct{}{}); err != nil {
		return err
	}
	c.inFlight.Add(1)
	if c.server.crew.Submit(r) {
		return nil
	}
	err := waiting(c.ctx, c.server.crew.Queue(), r)
	if err != nil {
		c.leave()
	}
	return err
}

// waiting sends v to ch.
func waiting[T any](ctx context.Context, ch chan<- T, v T) error {
	select {
	case ch <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) leave() {
	<-c.slots
	c.inFlight.Done()
}

// answer runs the handler, and closes the connection if it does not reply.
func (s *Replier) answer(r *request) {
	defer r.client.leave()
	defer r.expire()
	defer func() {
		if v := recover(); v != nil {
			s.counters.Panics.Add(1)
			s.log.Errorf("request of %s made its handler panic: %v\n%s", r.Remote(), v, debug.Stack())
		}
	}()
	s.handler(r.client.ctx, r)
}

// A request is one message of a peer with the head that its reply gets.
type request struct {
	client     *client
	head, body data.Raw
	replied    atomic.Bool
}

func (r *request) Body() []byte     { return r.body }
func (r *request) Remote() net.Addr { return r.client.remote() }

// Reply answers on the connection that the request came by. A body that is no MessagePack value ends the connection.
func (r *request) Reply(body []byte) error {
	if r.replied.Swap(true) {
		return transport.ErrReplied
	}
	b, tail, err := encode(r.head, body)
	if err != nil {
		r.client.cut()
		return err
	}
	_, err = r.client.out.SendParts(b, tail)
	return err
}

// expire closes the connection of a request that got no reply.
func (r *request) expire() {
	if r.replied.Swap(true) {
		return
	}
	r.client.server.counters.Unanswered.Add(1)
	r.client.cut()
}

func (r *request) Session() any {
	h, _ := r.client.session.Load().(held)
	return h.v
}

func (r *request) SetSession(v any) { r.client.session.Store(held{v}) }

func (r *request) Trust() {
	if !r.client.trusted.Swap(true) {
		source := transport.SourceOf(r.Remote())
		r.client.server.known.Trust(source)
		r.client.server.opts.Crowd.Prove(source)
	}
}

package zeromq

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// A Replier is a ROUTER that answers requests of REQ and DEALER peers; see [transport.Replier].
type Replier struct {
	*server
	handler transport.Handler
	crew    *transport.Crew[*request]
	known   transport.Sources
	replies sync.Pool // *[]byte
}

// NewReplier returns a replier on a listener, which it owns from then on.
func NewReplier(l net.Listener, o transport.Options) *Replier {
	s := &Replier{server: newServer(zmq4.Router, 1<<10, l, o)}
	s.crew = transport.NewCrew(s.opts.Workers, s.answer)
	s.within = func(ctx context.Context) context.Context { return transport.WithAside(ctx, s.crew) }
	return s
}

// Serve answers requests with h until ctx ends.
func (s *Replier) Serve(ctx context.Context, h transport.Handler) error {
	err := s.serve(ctx, func() { s.handler = h }, func() dialogue { return &client{server: s} })
	if err == nil && !s.crew.Dismiss(time.Second) { // by now the context of the handlers has ended
		s.log.Warn("handlers of requests do not end; going on without them")
	}
	return err
}

// A client is one connection of a replier.
type client struct {
	contact
	server   *Replier
	ctx      context.Context
	cancel   context.CancelFunc
	session  atomic.Value // of type held
	slots    chan struct{}
	inFlight sync.WaitGroup
}

type held struct{ v any }

func (c *client) begin(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.slots = make(chan struct{}, c.server.inFlight())
	source := transport.SourceOf(c.remote())
	c.guard.trusted.Store(!source.IsValid() || c.server.known.Trusted(source))
}

func (c *client) end() { c.cancel() }

func (s *Replier) inFlight() int {
	if s.limits.MaxInFlight < 0 {
		return 1 << 30 // places in the channel take no memory
	}
	return s.limits.MaxInFlight
}

// checkIdle closes a peer that we do not know and that asks nothing.
func (c *client) checkIdle(quiet time.Duration) error {
	limit := c.server.limits.IdleTimeout
	if limit <= 0 || quiet < limit || c.guard.trusted.Load() || len(c.slots) > 0 {
		return nil
	}
	return errIdle
}

// settle waits for the requests in work, so that their replies still go out.
func (c *client) settle() {
	settled := make(chan struct{})
	go func() {
		c.inFlight.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-c.ctx.Done():
	}
}

// hear gives one message to a worker, and waits for one if need be: more is read from this peer only then.
func (c *client) hear(frames [][]byte) error {
	r, err := c.request(frames)
	if err != nil {
		return err
	}
	c.server.counters.Received.Add(1)
	select {
	case c.slots <- struct{}{}:
	default:
		if err := waiting(c, c.slots, struct{}{}); err != nil {
			return err
		}
	}
	c.inFlight.Add(1)
	if err := c.server.submit(r); err != nil {
		c.leave()
		return err
	}
	return nil
}

func (c *client) leave() {
	<-c.slots
	c.inFlight.Done()
}

// submit hands a request to a worker that is free, else to a new one, else to the first that becomes free.
func (s *Replier) submit(r *request) error {
	if s.crew.Submit(r) {
		return nil
	}
	return waiting(r.client, s.crew.Queue(), r)
}

// waiting sends v to ch. The peer, whose heartbeats are not read meanwhile, gets some of ours as signs of life.
func waiting[T any](c *client, ch chan<- T, v T) error {
	tick := time.NewTicker(c.pingsWhenBusy())
	defer tick.Stop()
	for {
		select {
		case ch <- v:
			return nil
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-tick.C:
			c.ping()
		}
	}
}

// pingsWhenBusy is short, because the other side may have less patience than we.
func (c *client) pingsWhenBusy() time.Duration { return min(c.guard.tick(), 2*time.Second) }

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

// A request is one message of a peer with the envelope that its reply goes back in.
type request struct {
	client   *client
	envelope [][]byte
	body     []byte
	replied  atomic.Bool
}

// request takes a message apart: the envelope ends with the first empty frame, and one frame follows it.
func (c *client) request(frames [][]byte) (*request, error) {
	for i, f := range frames {
		if len(f) > 0 {
			continue
		}
		if i != len(frames)-2 {
			return nil, fmt.Errorf("request of %d frames after the delimiter: %w", len(frames)-1-i, transport.ErrProtocol)
		}
		return &request{client: c, envelope: frames[:i+1], body: frames[i+1]}, nil
	}
	return nil, fmt.Errorf("request without a delimiter: %w", transport.ErrProtocol)
}

func (r *request) Body() []byte     { return r.body }
func (r *request) Remote() net.Addr { return r.client.remote() }

// shareFrom is the size from which a body is sent as it is instead of being copied behind its header.
const shareFrom = 16 << 10

// Reply answers on the connection that the request came by.
func (r *request) Reply(body []byte) error {
	if r.replied.Swap(true) {
		return transport.ErrReplied
	}
	n := longHeader
	for _, f := range r.envelope {
		n += longHeader + len(f)
	}
	if len(body) < shareFrom {
		return r.replySmall(n, body)
	}
	_, err := r.client.out.SendParts(appendHeader(r.head(make([]byte, 0, n)), 0, len(body)), body)
	return err
}

// replySmall copies the body behind its header, in a buffer that is used again unless the peer is slow.
func (r *request) replySmall(head int, body []byte) error {
	pool := &r.client.server.replies
	buf, _ := pool.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	b := appendFrame(r.head(slices.Grow((*buf)[:0], head+len(body))), 0, body)
	kept, err := r.client.out.SendParts(b, nil)
	if !kept {
		*buf = b
		pool.Put(buf)
	}
	return err
}

// head appends the envelope.
func (r *request) head(b []byte) []byte {
	for _, f := range r.envelope {
		b = appendFrame(b, flagMore, f)
	}
	return b
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
	if !r.client.guard.trusted.Swap(true) {
		source := transport.SourceOf(r.Remote())
		r.client.server.known.Trust(source)
		r.client.server.opts.Crowd.Prove(source)
	}
}

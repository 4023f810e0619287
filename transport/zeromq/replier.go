package zeromq

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// A Replier is a ROUTER socket that answers requests of REQ and DEALER peers; see
// [transport.Replier].
type Replier struct {
	*server
	desk    *serve.Desk
	replies sync.Pool // *[]byte
}

// NewReplier returns a replier on a listener, which it takes over.
func NewReplier(l net.Listener, o transport.Options) *Replier {
	s := newServer(routerSocket, 1<<10, l, o)
	return &Replier{server: s, desk: serve.NewDesk(s.Server)}
}

// Serve answers requests with h until ctx ends.
func (s *Replier) Serve(ctx context.Context, h transport.Handler) error {
	begin := func(hard context.Context) context.Context {
		s.desk.Open(h)
		return s.desk.Within(hard)
	}
	err := s.serve(ctx, begin, func() dialogue { return &client{server: s} })
	if err == nil {
		s.desk.Close()
	}
	return err
}

// A client is one connection of a replier.
type client struct {
	contact
	serve.Client
	server *Replier
}

// Trusted reports whether the peer is authenticated.
func (c *client) Trusted() *atomic.Bool { return &c.guard.trusted }

func (c *client) begin(ctx context.Context) { c.Begin(ctx, c.server.desk, c) }

func (c *client) checkIdle(quiet time.Duration) error { return c.CheckIdle(quiet) }

func (c *client) settle() { c.Settle() }

func (c *client) end() { c.End() }

// hear passes a message to a worker. While none is free, the peer's heartbeats are not read, so it
// is sent heartbeats as signs of life.
func (c *client) hear(frames [][]byte) error {
	r, err := c.request(frames)
	if err != nil {
		return err
	}
	return c.Take(&r.Request, c.pingsWhenBusy(), c.ping)
}

// pingsWhenBusy returns a short interval, because the peer's timeout may be shorter than ours.
func (c *client) pingsWhenBusy() time.Duration { return min(c.guard.tick(), 2*time.Second) }

// A request is a message of a peer with the envelope for its reply.
type request struct {
	serve.Request
	client   *client
	envelope [][]byte
}

// request splits a message: the envelope ends with the first empty frame, and one frame follows.
func (c *client) request(frames [][]byte) (*request, error) {
	for i, f := range frames {
		if len(f) > 0 {
			continue
		}
		if i != len(frames)-2 {
			return nil, fmt.Errorf("request of %d frames after the delimiter: %w", len(frames)-1-i,
				transport.ErrProtocol)
		}
		r := &request{client: c, envelope: frames[:i+1]}
		r.Set(&c.Client, r, frames[i+1])
		return r, nil
	}
	return nil, fmt.Errorf("request without a delimiter: %w", transport.ErrProtocol)
}

// shareFrom is the size from which a body is sent without copying it behind its header.
const shareFrom = 16 << 10

// Send sends the reply on the connection of the request.
func (r *request) Send(body []byte) error {
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

// replySmall copies the body behind its header, into a buffer that is reused unless the peer is
// slow.
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

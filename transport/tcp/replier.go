package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// clientRoom is the read buffer kept for an idle client, in bytes. Most requests fit.
const clientRoom = 2 << 10

// A Replier answers the requests of the request port; see [transport.Replier].
type Replier struct {
	*server
	desk *serve.Desk
}

// NewReplier returns a replier on a listener, which it takes over. A nil t means no TLS.
func NewReplier(l net.Listener, o transport.Options, t *TLS) *Replier {
	s := newServer(l, o, t)
	return &Replier{server: s, desk: serve.NewDesk(s.Server)}
}

// Serve answers requests with h until ctx ends.
func (s *Replier) Serve(ctx context.Context, h transport.Handler) error {
	err := s.serve(ctx, func(context.Context) { s.desk.Open(h) }, s.converse)
	if err == nil {
		s.desk.Close()
	}
	return err
}

// A client is one connection of a replier.
type client struct {
	*peer
	serve.Client
}

// Trusted reports whether the peer is authenticated.
func (c *client) Trusted() *atomic.Bool { return &c.trusted }

// converse reads the requests of one peer and passes them to the workers.
func (s *Replier) converse(ctx context.Context, p *peer) error {
	c := &client{peer: p}
	c.Begin(s.desk.Within(ctx), s.desk, c)
	defer c.End()
	p.expect, p.idle = true, c.CheckIdle
	p.frames.SetRoom(clientRoom)
	for {
		frame, err := p.next()
		if err == nil {
			p.settled()
			err = c.take(frame)
		}
		if errors.Is(err, serve.ErrDraining) || p.draining.Load() {
			c.Settle()
			return serve.ErrDraining
		}
		if err != nil {
			return err
		}
	}
}

// A request is a message of a peer with the head of its reply.
type request struct {
	serve.Request
	client *client
	head   data.Raw
}

// take passes a message to a worker.
func (c *client) take(f payload.Frame) error {
	if f.Head == nil {
		return fmt.Errorf("request without a head: %w", transport.ErrProtocol)
	}
	r := &request{client: c, head: f.Head}
	r.Set(&c.Client, r, f.Body)
	return c.Take(&r.Request, 0, nil)
}

// Send sends the reply. A body that is not a MessagePack value closes the connection.
func (r *request) Send(body []byte) error {
	b, tail, err := encode(r.head, body)
	if err != nil {
		r.client.Cut()
		return err
	}
	_, err = r.client.out.SendParts(b, tail)
	return err
}

package zeromq

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// A Subscriber is a SUB; see [transport.Subscriber].
type Subscriber struct {
	dialer transport.Dialer
	topics []string
}

// NewSubscriber returns a subscriber to topics with the given prefixes; none means everything.
func NewSubscriber(d transport.Dialer, topics ...string) *Subscriber {
	if len(topics) == 0 {
		topics = []string{""}
	}
	d.ReadsOnly = true
	return &Subscriber{dialer: d, topics: slices.Clone(topics)}
}

// answers is the number of heartbeats that a publisher must answer before OnState reports the
// connection. A publisher reads in order, so one would be enough, but libzmq answers before it
// processes what it read earlier; it has done so when it reads again (libzmq,
// stream_engine_base.cpp, in_event_internal).
const answers = 2

// Run calls fn with each publication until ctx ends. The dialer's OnState is called for a
// connection once the publisher has processed the subscriptions, so later publications are not
// missed. This is known when it has answered heartbeats sent after them. ZMTP 3.0 peers have no
// heartbeats; there OnState is called at once.
func (s *Subscriber) Run(ctx context.Context, fn func(topic, body []byte)) error {
	l := newLink(zmq4.Sub, s.dialer)
	l.run(ctx, func(_ context.Context, p *peer) error {
		taken := sync.OnceFunc(l.Up)
		p.side = &countdown{peer: p, left: answers, taken: taken}
		if err := p.out.Send(s.introduction(&p.guard)); err != nil {
			return err
		}
		if !p.guard.pings() {
			taken()
		}
		for {
			frames, err := p.receive()
			if err != nil {
				return err
			}
			taken()
			s.hand(frames, fn)
		}
	})
	return nil
}

// A countdown counts answers to heartbeats, and requests more until taken may be called.
type countdown struct {
	peer  *peer
	left  int
	taken func()
}

func (c *countdown) pong() {
	if c.left--; c.left > 0 {
		c.peer.ping()
		return
	}
	c.taken()
}

// introduction returns the first data sent: the subscriptions, and a PING if the peer answers it.
func (s *Subscriber) introduction(g *guard) []byte {
	b := s.subscriptions(g.minor)
	if g.pings() {
		b = append(b, heartbeat()...)
	}
	return b
}

// hand passes on publications: a single frame has no topic, and two frames are a topic that we
// subscribed to and a body. It ignores other messages.
func (s *Subscriber) hand(frames [][]byte, fn func(topic, body []byte)) {
	switch {
	case len(frames) == 1:
		fn(nil, frames[0])
	case len(frames) == 2 && s.wants(frames[0]):
		fn(frames[0], frames[1])
	}
}

func (s *Subscriber) wants(topic []byte) bool {
	return slices.ContainsFunc(s.topics,
		func(t string) bool { return bytes.HasPrefix(topic, []byte(t)) })
}

// subscriptions returns the subscriptions as commands for ZMTP 3.1 peers, or as messages for 3.0.
func (s *Subscriber) subscriptions(minor byte) []byte {
	var b []byte
	for _, t := range s.topics {
		if minor >= 1 {
			b = append(b, command(zmq4.CmdSubscribe, []byte(t))...)
		} else {
			b = appendFrame(b, 0, append([]byte{1}, t...))
		}
	}
	return b
}

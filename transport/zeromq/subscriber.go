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

// NewSubscriber returns a subscriber to the topics with the given beginnings; none means everything.
func NewSubscriber(d transport.Dialer, topics ...string) *Subscriber {
	if len(topics) == 0 {
		topics = []string{""}
	}
	return &Subscriber{dialer: d, topics: slices.Clone(topics)}
}

// answers is how many heartbeats a publisher answers before its subscriber is told of the connection. A publisher reads in
// order, so one would do, but libzmq answers before it hands on what it has read before, and has handed that on when it reads
// again (libzmq, stream_engine_base.cpp, in_event_internal).
const answers = 2

// Run hands each publication to fn until ctx ends. The dialer's OnState is told of a connection when the publisher has
// taken the subscriptions, so that what is published from then on comes. It has once it has answered heartbeats that were
// sent after them; peers of ZMTP 3.0 have no heartbeats, and are believed at once.
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

// A countdown is told of the answers to heartbeats, and asks for more until taken may be called.
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

// introduction returns what is sent first: the subscriptions, and a PING where it is answered.
func (s *Subscriber) introduction(g *guard) []byte {
	b := s.subscriptions(g.minor)
	if g.pings() {
		b = append(b, heartbeat()...)
	}
	return b
}

// hand passes on publications of one frame, which carry no topic, and those of two whose topic is ours. Others are none.
func (s *Subscriber) hand(frames [][]byte, fn func(topic, body []byte)) {
	switch {
	case len(frames) == 1:
		fn(nil, frames[0])
	case len(frames) == 2 && s.wants(frames[0]):
		fn(frames[0], frames[1])
	}
}

func (s *Subscriber) wants(topic []byte) bool {
	return slices.ContainsFunc(s.topics, func(t string) bool { return bytes.HasPrefix(topic, []byte(t)) })
}

// subscriptions returns them as commands for a peer of ZMTP 3.1, as messages for one of 3.0.
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

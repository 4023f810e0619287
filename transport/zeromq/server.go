package zeromq

import (
	"context"
	"errors"
	"net"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// A server is what PUB, ROUTER and PULL have in common: it turns connections into peers, keeps them, and closes them.
//
// Most connections are at rest: nothing is under way on them, and all that a peer costs is a [dialogue] and a goroutine that waits
// for a byte. When one comes, another goroutine takes its place, which hears the peer until there is nothing more to read.
type server struct {
	*serve.Server
	profile
	ctx context.Context // of the dialogues; set by serve
}

// A dialogue is what a server has with one peer. Its methods are called one after another.
type dialogue interface {
	serve.Peer
	// at returns where the connection is kept.
	at() *contact
	// begin is called when the handshake is over.
	begin(ctx context.Context)
	// hear takes one message. An error ends the connection.
	hear(frames [][]byte) error
	// settle waits until what is under way is done, and is called when the server ends.
	settle()
	// end is called last, before the connection is closed.
	end()
}

// A contact is one connection of a server, and the zero contact is none yet.
type contact struct {
	peer
	arrival *transport.Arrival
}

func (l *contact) at() *contact { return l }

func newServer(kind zmq4.SocketType, readAhead int, l net.Listener, o transport.Options) *server {
	s := serve.New(l, o)
	s.Acceptor.Subscribe = kind == zmq4.Pub
	return &server{Server: s, profile: profile{
		kind: kind, server: true, buffers: &buffers{size: readAhead}, limits: s.Limits,
		budget: s.Budget, strangers: s.Strangers, counters: s.Counters,
	}}
}

// serve calls begin with the context that ends a while after ctx, with the linger, and has a dialogue with each peer, which meet
// makes, until ctx ends. begin returns the context of the dialogues.
func (s *server) serve(ctx context.Context, begin func(hard context.Context) context.Context, meet func() dialogue) error {
	return s.Run(ctx, func(hard context.Context) { s.ctx = begin(hard) },
		func(hard context.Context, conn net.Conn, a *transport.Arrival) { s.welcome(hard, conn, a, meet()) })
}

// welcome leads one connection through its handshake, and begins the dialogue.
func (s *server) welcome(hard context.Context, conn net.Conn, a *transport.Arrival, c dialogue) {
	l := c.at()
	l.arrival, l.side = a, c
	met := s.Handshake(hard, conn, func() error { return s.handshake(conn, &l.peer) })
	a.Done()
	if !met {
		a.End()
		return
	}
	l.guard.rests = true
	s.Add(c)
	c.begin(s.ctx)
	s.attend(c)
}

// attend hears a peer until it sends nothing more, or the connection ends.
func (s *server) attend(c dialogue) {
	l := c.at()
	for {
		frames, err := l.receive()
		if errors.Is(err, errAtRest) {
			go s.await(c)
			return
		}
		if err == nil {
			err = c.hear(frames)
		}
		if err == serve.ErrDraining || l.guard.draining.Load() {
			c.settle()
			err = serve.ErrDraining
		}
		if err != nil {
			s.part(c, err)
			return
		}
	}
}

// await waits until a peer sends something. It runs on a goroutine of its own, and what hears the peer then on another one: a stack
// that has grown does not become as small as a new one again.
func (s *server) await(c dialogue) {
	c.at().guard.rest()
	go s.attend(c)
}

// part ends a dialogue and its connection.
func (s *server) part(c dialogue, err error) {
	l := c.at()
	c.end()
	s.Account(c, err, errors.Is(err, errDead))
	l.finish(s.ctx)
	s.Remove(c)
	l.Close()
	l.arrival.End()
}

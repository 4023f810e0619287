package zeromq

import (
	"context"
	"errors"
	"net"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// A server is the common part of PUB, ROUTER and PULL: it turns connections into peers, tracks them
// and closes them.
//
// Most connections are idle. An idle peer only costs a [dialogue] and a goroutine that waits for a
// byte. When one arrives, another goroutine takes over and reads from the peer until there is
// nothing more to read.
type server struct {
	*serve.Server
	profile
	ctx context.Context // of the dialogues; set by serve
}

// A dialogue is a server's conversation with one peer. Its methods are never called concurrently.
type dialogue interface {
	serve.Peer
	// at returns the connection's contact.
	at() *contact
	// begin is called after the handshake.
	begin(ctx context.Context)
	// hear handles one message. An error closes the connection.
	hear(frames [][]byte) error
	// settle waits until running work is done. It is called when the server ends.
	settle()
	// end is called last, before the connection is closed.
	end()
}

// A contact is one connection of a server. The zero contact has no connection yet.
type contact struct {
	peer
	arrival *transport.Arrival
}

func (l *contact) at() *contact { return l }

func newServer(kind socketType, readAhead int, l net.Listener, o transport.Options) *server {
	s := serve.New(l, o)
	s.Acceptor.Subscribe = kind == pubSocket
	return &server{Server: s, profile: profile{
		kind: kind, server: true, buffers: &buffers{size: readAhead}, limits: s.Limits,
		budget: s.Budget, strangers: s.Strangers, counters: s.Counters,
	}}
}

// serve accepts connections until ctx ends, and runs a dialogue created by meet with each peer. It
// calls begin with a context that ends after the linger time; begin returns the context of the
// dialogues.
func (s *server) serve(
	ctx context.Context, begin func(hard context.Context) context.Context, meet func() dialogue,
) error {
	return s.Run(ctx, func(hard context.Context) { s.ctx = begin(hard) },
		func(hard context.Context, conn net.Conn,
			a *transport.Arrival) {
			s.welcome(hard, conn, a, meet())
		})
}

// welcome performs the handshake of a connection and begins its dialogue.
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

// attend reads from a peer until there is nothing more to read or the connection ends.
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
		if errors.Is(err, serve.ErrDraining) || l.guard.draining.Load() {
			c.settle()
			err = serve.ErrDraining
		}
		if err != nil {
			s.part(c, err)
			return
		}
	}
}

// await waits until a peer sends something. It runs on its own goroutine, and the peer is then read
// by another one: a stack that has grown does not shrink to the size of a new one.
func (s *server) await(c dialogue) {
	c.at().guard.rest()
	go s.attend(c)
}

// part ends a dialogue and closes its connection.
func (s *server) part(c dialogue, err error) {
	l := c.at()
	c.end()
	s.Account(c, err, errors.Is(err, errDead))
	l.finish(s.ctx)
	s.Remove(c)
	l.Close()
	l.arrival.End()
}

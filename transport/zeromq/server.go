package zeromq

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/transport"
)

// A server is what PUB, ROUTER and PULL have in common: it turns connections into peers, keeps them, and closes them.
//
// Most connections are at rest: nothing is under way on them, and all that a peer costs is a [dialogue] and a goroutine that waits
// for a byte. When one comes, another goroutine takes its place, which hears the peer until there is nothing more to read.
type server struct {
	profile
	opts     transport.Options
	acceptor *transport.Acceptor
	log      logrus.FieldLogger
	ctx      context.Context                       // of the dialogues; set by serve
	within   func(context.Context) context.Context // makes it of one that ends with the server; nil leaves that as it is

	mu     sync.Mutex
	peers  map[dialogue]struct{}
	served bool
	done   bool // no new peers
	stop   context.CancelFunc
}

// A dialogue is what a server has with one peer. Its methods are called one after another.
type dialogue interface {
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
	limits := o.Limits.ServerLimits()
	o = o.Filled()
	counters := &transport.Counters{}
	return &server{
		profile: profile{
			kind: kind, server: true, buffers: &buffers{size: readAhead}, limits: limits,
			budget: transport.NewBudget(limits.Assembly), strangers: transport.NewStrangers(limits.Strange), counters: counters,
		},
		opts: o,
		log:  o.Log,
		acceptor: &transport.Acceptor{
			Listener: l, Limits: limits, KeepAlive: o.KeepAlive, Counters: counters, Log: o.Log, Crowd: o.Crowd, Subscribe: kind == zmq4.Pub,
		},
		peers: map[dialogue]struct{}{},
	}
}

// Addr returns the address that the server is bound to.
func (s *server) Addr() net.Addr { return s.acceptor.Listener.Addr() }

// Stats returns what the server has counted.
func (s *server) Stats() transport.Stats { return s.counters.Stats(s.acceptor.Open()) }

// Close ends the server without lingering.
func (s *server) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	err := s.acceptor.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

var errServedTwice = errors.New("server was already run")

// serve calls ready, and has a dialogue with each peer, which meet makes, until ctx ends. The context of the dialogues ends a
// while after that, with the linger.
func (s *server) serve(ctx context.Context, ready func(), meet func() dialogue) error {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.start(hard, cancel); err != nil {
		return err
	}
	ready()
	soft, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(hard, end)()
	defer context.AfterFunc(hard, s.cut)()
	var wg sync.WaitGroup
	s.acceptor.Serve(soft, &wg, func(conn net.Conn, a *transport.Arrival) { s.welcome(conn, a, meet()) })
	timer := time.AfterFunc(max(s.opts.Linger, 0), cancel)
	defer timer.Stop()
	s.drain()
	wg.Wait()
	return nil
}

func (s *server) start(hard context.Context, stop context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served {
		return errServedTwice
	}
	s.served, s.ctx, s.stop = true, hard, stop
	if s.within != nil {
		s.ctx = s.within(hard)
	}
	return nil
}

// welcome leads one connection through its handshake, and begins the dialogue.
func (s *server) welcome(conn net.Conn, a *transport.Arrival, c dialogue) {
	l := c.at()
	l.arrival, l.side = a, c
	still := context.AfterFunc(s.ctx, func() { conn.Close() })
	err := s.handshake(conn, &l.peer)
	a.Done()
	still()
	if err != nil {
		s.counters.HandshakeFailures.Add(1)
		s.log.WithError(err).Debugf("handshake with %s", conn.RemoteAddr())
		conn.Close()
		a.End()
		return
	}
	l.guard.rests = true
	s.add(c)
	c.begin(s.ctx)
	s.attend(c)
}

// attend hears a peer until it sends nothing more, or the connection ends.
func (s *server) attend(c dialogue) {
	l := c.at()
	for {
		frames, err := l.receive()
		if err == errAtRest {
			go s.await(c)
			return
		}
		if err == nil {
			err = c.hear(frames)
		}
		if err == errDraining || l.guard.draining.Load() {
			c.settle()
			err = errDraining
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
	s.account(&l.peer, err)
	l.finish(s.ctx)
	s.remove(c)
	l.close()
	l.arrival.End()
}

func (s *server) add(c dialogue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[c] = struct{}{}
	if s.done {
		c.at().guard.drain()
	}
	if s.ctx.Err() != nil {
		c.at().cut()
	}
}

func (s *server) remove(c dialogue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, c)
}

func (s *server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.strangers.Close()
	for c := range s.peers {
		c.at().guard.drain()
	}
}

// cut ends all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.peers {
		c.at().cut()
	}
}

// account counts why a peer ended. What it still has to get is dropped, unless the server is what ended.
func (s *server) account(p *peer, err error) {
	if errors.Is(err, errDraining) {
		return
	}
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		s.counters.TooLarge.Add(1)
		s.counters.ProtocolErrors.Add(1)
	case errors.Is(err, transport.ErrProtocol):
		s.counters.ProtocolErrors.Add(1)
	case errors.Is(err, errDead) || transport.TimedOut(err):
		s.counters.Evicted.Add(1)
	}
	if !transport.Ordinary(err) {
		s.log.WithError(err).Debugf("connection of %s closed", p.remote())
	}
	p.close()
}

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
type server struct {
	profile
	opts     transport.Options
	acceptor *transport.Acceptor
	log      logrus.FieldLogger

	mu     sync.Mutex
	peers  map[*peer]struct{}
	served bool
	done   bool // no new peers
	stop   context.CancelFunc
}

func newServer(kind zmq4.SocketType, readAhead int, l net.Listener, o transport.Options) *server {
	limits := o.Limits.ServerLimits()
	o = o.Filled()
	counters := &transport.Counters{}
	return &server{
		profile: profile{
			kind: kind, server: true, readAhead: readAhead, limits: limits,
			budget: transport.NewBudget(limits.Assembly), counters: counters,
		},
		opts: o,
		log:  o.Log,
		acceptor: &transport.Acceptor{
			Listener: l, Limits: limits, KeepAlive: o.KeepAlive, Counters: counters, Log: o.Log, Crowd: o.Crowd, Subscribe: kind == zmq4.Pub,
		},
		peers: map[*peer]struct{}{},
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

// serve calls begin, and runs converse for each peer until ctx ends. converse gets a context that ends a while after that, with the
// linger; it returns when the peer is lost or when receive says errDraining.
func (s *server) serve(ctx context.Context, begin func(), converse func(context.Context, *peer) error) error {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.start(cancel); err != nil {
		return err
	}
	begin()
	soft, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(hard, end)()
	var wg sync.WaitGroup
	s.acceptor.Serve(soft, &wg, func(conn net.Conn, h *transport.Handshake) {
		s.welcome(hard, conn, h, converse)
	})
	timer := time.AfterFunc(max(s.opts.Linger, 0), cancel)
	defer timer.Stop()
	s.drain()
	wg.Wait()
	return nil
}

func (s *server) start(stop context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served {
		return errServedTwice
	}
	s.served, s.stop = true, stop
	return nil
}

// welcome leads one connection through its life.
func (s *server) welcome(ctx context.Context, conn net.Conn, h *transport.Handshake, converse func(context.Context, *peer) error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	p, err := s.greet(conn)
	h.Done()
	if err != nil {
		s.counters.HandshakeFailures.Add(1)
		s.log.WithError(err).Debugf("handshake with %s", conn.RemoteAddr())
		conn.Close()
		return
	}
	defer p.close()
	defer s.remove(p)
	s.add(p)
	s.account(p, converse(ctx, p))
	p.finish(ctx)
}

// greet does the handshake on a goroutine of its own: the stack that it grows does not stay for the life of the
// connection.
func (s *server) greet(conn net.Conn) (p *peer, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = s.handshake(conn)
	}()
	<-done
	return p, err
}

func (s *server) add(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[p] = struct{}{}
	if s.done {
		p.guard.drain()
	}
}

func (s *server) remove(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, p)
}

func (s *server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	for p := range s.peers {
		p.guard.drain()
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

// Package serve is what the servers of all transports have in common: the life of a server with its
// connections, and the requests of a replier. A transport adds its handshake and its frames.
package serve

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/transport"
)

var (
	// ErrDraining is what the reader of a connection gets when its server ends.
	ErrDraining = errors.New("server is shutting down")
	// ErrIdle closes the connection of a peer that is not known and asks nothing.
	ErrIdle = errors.New("peer sends nothing")

	errServedTwice = errors.New("server was already run")
)

// A Peer is one connection of a server after its handshake.
type Peer interface {
	// Remote returns the address of the other side.
	Remote() net.Addr
	// Drain makes its reader end with ErrDraining.
	Drain()
	// Cut ends the connection; its reader notices and closes it.
	Cut()
	// Close ends the connection and drops what the peer still has to get. It is for the reader.
	Close()
}

// A Server takes connections, keeps those that have become peers, and closes them. What is exported is
// set before Run and not changed afterwards.
type Server struct {
	Opts      transport.Options // with the defaults filled in
	Limits    transport.Limits  // likewise
	Budget    *transport.Budget
	Strangers *transport.Strangers
	Counters  *transport.Counters
	Acceptor  *transport.Acceptor
	Log       logrus.FieldLogger

	mu    sync.Mutex
	peers map[Peer]struct{}
	done  bool            // new peers are drained
	hard  context.Context // ends when no peer may live on; nil before Run
	stop  context.CancelFunc
}

// New returns a server on a listener, which it owns from then on.
func New(l net.Listener, o transport.Options) *Server {
	limits := o.Limits.ServerLimits()
	o = o.Filled()
	counters := &transport.Counters{}
	return &Server{
		Opts: o, Limits: limits, Counters: counters, Log: o.Log, peers: map[Peer]struct{}{},
		Budget: transport.NewBudget(limits.Assembly), Strangers: transport.NewStrangers(limits.Strange),
		Acceptor: &transport.Acceptor{
			Listener: l, Limits: limits, KeepAlive: o.KeepAlive, Counters: counters, Log: o.Log, Crowd: o.Crowd,
		},
	}
}

// Addr returns the address that the server is bound to.
func (s *Server) Addr() net.Addr { return s.Acceptor.Listener.Addr() }

// Stats returns what the server has counted.
func (s *Server) Stats() transport.Stats { return s.Counters.Stats(s.Acceptor.Open()) }

// Peers returns how many connections have done their handshake.
func (s *Server) Peers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Close ends the server without lingering.
func (s *Server) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	err := s.Acceptor.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Run calls begin, and welcome for each connection, until ctx ends. hard, which both get, ends a while
// after that, with the linger: then all peers are cut. Run returns when each arrival has ended; it may
// be called once.
func (s *Server) Run(
	ctx context.Context, begin func(hard context.Context),
	welcome func(hard context.Context, conn net.Conn, a *transport.Arrival),
) error {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.start(hard, cancel); err != nil {
		return err
	}
	begin(hard)
	soft, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(hard, end)()
	defer context.AfterFunc(hard, s.cut)()
	var wg sync.WaitGroup
	s.Acceptor.Serve(soft, &wg, func(conn net.Conn, a *transport.Arrival) { welcome(hard, conn, a) })
	timer := time.AfterFunc(max(s.Opts.Linger, 0), cancel)
	defer timer.Stop()
	s.drain()
	wg.Wait()
	return nil
}

func (s *Server) start(hard context.Context, stop context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hard != nil {
		return errServedTwice
	}
	s.hard, s.stop = hard, stop
	return nil
}

// Handshake runs shake for a connection that arrived, and ends it where that fails or the server ends
// meanwhile. It reports whether the connection may become a peer.
func (s *Server) Handshake(hard context.Context, conn net.Conn, shake func() error) bool {
	still := context.AfterFunc(hard, func() { conn.Close() })
	defer still()
	err := shake()
	if err == nil {
		return true
	}
	s.Counters.HandshakeFailures.Add(1)
	s.Log.WithError(err).Debugf("handshake with %s", conn.RemoteAddr())
	conn.Close()
	return false
}

// Add makes a connection a peer.
func (s *Server) Add(p Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[p] = struct{}{}
	if s.done {
		p.Drain()
	}
	if s.hard.Err() != nil {
		p.Cut()
	}
}

// Remove ends the membership that Add began.
func (s *Server) Remove(p Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, p)
}

func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.Strangers.Close()
	for p := range s.peers {
		p.Drain()
	}
}

// cut ends all connections.
func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.peers {
		p.Cut()
	}
}

// Account counts why a peer ended, and reports whether there was something to count. What the peer still
// has to get is dropped, unless the server is what ended. dead says that it did not answer.
func (s *Server) Account(p Peer, err error, dead bool) (counted bool) {
	if errors.Is(err, ErrDraining) {
		return true
	}
	counted = true
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		s.Counters.TooLarge.Add(1)
		s.Counters.ProtocolErrors.Add(1)
	case errors.Is(err, transport.ErrProtocol):
		s.Counters.ProtocolErrors.Add(1)
	case dead || transport.TimedOut(err):
		s.Counters.Evicted.Add(1)
	default:
		counted = false
	}
	if !transport.Ordinary(err) {
		s.Log.WithError(err).Debugf("connection of %s closed", p.Remote())
	}
	p.Close()
	return counted
}

// Package serve implements the common part of all transports' servers: the life cycle of a server
// and its connections, and the requests of a replier. A transport adds its handshake and framing.
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
	// ErrDraining is returned to the reader of a connection when its server ends.
	ErrDraining = errors.New("server is shutting down")
	// ErrIdle closes the connection of an untrusted peer without requests.
	ErrIdle = errors.New("peer sends nothing")

	errServedTwice = errors.New("server was already run")
)

// A Peer is one connection of a server after its handshake.
type Peer interface {
	// Remote returns the address of the other side.
	Remote() net.Addr
	// Drain makes its reader return ErrDraining.
	Drain()
	// Cut closes the connection; its reader notices and closes the peer.
	Cut()
	// Close closes the connection and discards queued messages. Only the reader may call it.
	Close()
}

// A Server accepts connections, tracks those that have become peers, and closes them. Exported
// fields must be set before Run and not changed afterwards.
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
	done  bool            // drain new peers
	hard  context.Context // ends when all peers are cut; nil before Run
	stop  context.CancelFunc
}

// New returns a server on a listener, which it takes over.
func New(l net.Listener, o transport.Options) *Server {
	limits := o.Limits.ServerLimits()
	o = o.Filled()
	counters := &transport.Counters{}
	return &Server{
		Opts: o, Limits: limits, Counters: counters, Log: o.Log, peers: map[Peer]struct{}{},
		Budget:    transport.NewBudget(limits.Assembly),
		Strangers: transport.NewStrangers(limits.Strange),
		Acceptor: &transport.Acceptor{
			Listener: l, Limits: limits, KeepAlive: o.KeepAlive, Counters: counters, Log: o.Log,
			Crowd: o.Crowd,
		},
	}
}

// Addr returns the address that the server is bound to.
func (s *Server) Addr() net.Addr { return s.Acceptor.Listener.Addr() }

// Stats returns the server's counters.
func (s *Server) Stats() transport.Stats { return s.Counters.Stats(s.Acceptor.Open()) }

// Peers returns the number of connections that have completed their handshake.
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

// Run calls begin, and welcome for each connection, until ctx ends. Both receive the context hard,
// which ends after the linger time; then all peers are cut. Run returns when all arrivals have
// ended. It may be called at most once.
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

// Handshake runs shake for a new connection, and closes it if that fails or the server ends
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

// Add registers a connection as a peer.
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

// Remove unregisters a peer.
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

// cut closes all connections.
func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.peers {
		p.Cut()
	}
}

// Account counts the reason for a peer's end, and reports whether there was one to count. Queued
// messages are discarded unless the server is ending. dead means that the peer did not answer.
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

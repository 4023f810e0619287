package tcp

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/transport"
)

// A server is what the servers of this package have in common: it turns connections into peers, keeps them, and closes
// them.
type server struct {
	opts      transport.Options
	limits    transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers
	counters  *transport.Counters
	acceptor  *transport.Acceptor
	tls       *TLS
	log       logrus.FieldLogger

	mu     sync.Mutex
	peers  map[*peer]struct{}
	served bool
	done   bool // no new peers
	stop   context.CancelFunc
}

func newServer(l net.Listener, o transport.Options, t *TLS) *server {
	o = o.Filled()
	s := &server{opts: o, limits: o.Limits.ServerLimits(), counters: &transport.Counters{}, tls: t, log: o.Log, peers: map[*peer]struct{}{}}
	s.budget, s.strangers = transport.NewBudget(s.limits.Assembly), transport.NewStrangers(s.limits.Strange)
	s.acceptor = &transport.Acceptor{Listener: l, Limits: s.limits, KeepAlive: lively(o.KeepAlive), Counters: s.counters, Log: o.Log, Crowd: o.Crowd}
	return s
}

// lively returns keepalive settings that find a dead peer within a minute where Salt's defaults would take a quarter of
// an hour. The other transport has heartbeats for it. What an operator has set is kept.
func lively(k transport.KeepAlive) transport.KeepAlive {
	if k == transport.SaltKeepAlive(true, 300, -1, -1) {
		return transport.KeepAlive{}
	}
	return k
}

// A peer is one connection of a server. One goroutine reads; any may send.
type peer struct {
	*guard
	out   *transport.Outbox
	place *transport.Arrival // until it is known
}

func (p *peer) remote() net.Addr { return p.conn.RemoteAddr() }

// settled ends the handshake.
func (p *peer) settled() { p.place.Done() }

// cut ends the connection; the reader notices and closes the peer.
func (p *peer) cut() { p.conn.Close() }

// close is for the reader.
func (p *peer) close() {
	p.out.Close()
	p.cut()
	p.release()
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

// serve calls begin, and runs converse for each peer until ctx ends. converse gets a context that ends a while after
// that, with the linger; it returns when the peer is lost or when next says errDraining.
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
	s.acceptor.Serve(soft, &wg, func(conn net.Conn, h *transport.Arrival) {
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
func (s *server) welcome(ctx context.Context, conn net.Conn, h *transport.Arrival, converse func(context.Context, *peer) error) {
	defer h.End()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	secured, err := s.secure(ctx, conn)
	if err != nil {
		s.counters.HandshakeFailures.Add(1)
		s.log.WithError(err).Debugf("handshake with %s", conn.RemoteAddr())
		conn.Close()
		return
	}
	p := &peer{guard: newGuard(secured, &s.limits, s.budget), out: transport.NewOutbox(secured, &s.limits, s.counters), place: h}
	p.strangers = s.strangers
	defer p.close()
	defer s.remove(p)
	s.add(p)
	s.account(p, converse(ctx, p))
	_ = p.out.Drained(ctx)
}

// secure does TLS's handshake where the server speaks TLS.
func (s *server) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if s.tls == nil {
		return conn, nil
	}
	if s.limits.HandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limits.HandshakeTimeout)
		defer cancel()
	}
	return s.tls.server(ctx, conn)
}

func (s *server) add(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[p] = struct{}{}
	if s.done {
		p.drain()
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
	s.strangers.Close()
	for p := range s.peers {
		p.drain()
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
	case transport.TimedOut(err):
		s.counters.Evicted.Add(1)
	case p.expect:
		s.counters.HandshakeFailures.Add(1)
	}
	if !transport.Ordinary(err) {
		s.log.WithError(err).Debugf("connection of %s closed", p.remote())
	}
	p.close()
}

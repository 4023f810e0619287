package tcp

import (
	"context"
	"net"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// A server holds what the servers of this package share: the TLS handshake.
type server struct {
	*serve.Server
	tls *TLS
}

func newServer(l net.Listener, o transport.Options, t *TLS) *server {
	s := &server{Server: serve.New(l, o), tls: t}
	s.Acceptor.KeepAlive = s.Opts.KeepAlive.Or(transport.KeepAlive{})
	return s
}

// A peer is one connection of a server. One goroutine reads; any may send.
type peer struct {
	*guard
	out   *transport.Outbox
	place *transport.Arrival // until it is known
}

// Remote returns the address of the other side.
func (p *peer) Remote() net.Addr { return p.conn.RemoteAddr() }

// settled ends the handshake.
func (p *peer) settled() { p.place.Done() }

// Drain makes the reader return serve.ErrDraining.
func (p *peer) Drain() { p.drain() }

// Cut closes the connection; the reader notices and closes the peer.
func (p *peer) Cut() { p.conn.Close() }

// Close must only be called by the reader.
func (p *peer) Close() {
	p.out.Close()
	p.Cut()
	p.release()
}

// serve calls begin, and runs converse for each peer until ctx ends. The context of converse ends
// after the linger time. converse must return when the peer is lost or next returns
// serve.ErrDraining.
func (s *server) serve(
	ctx context.Context, begin func(hard context.Context),
	converse func(context.Context, *peer) error,
) error {
	return s.Run(ctx, begin, func(hard context.Context, conn net.Conn, a *transport.Arrival) {
		defer a.End()
		secured := conn
		if !s.Handshake(hard, conn, func() (err error) {
			secured, err = s.secure(hard, conn)
			return err
		}) {
			return
		}
		s.lead(hard, secured, a, converse)
	})
}

// lead handles one connection from handshake to end.
func (s *server) lead(
	hard context.Context, conn net.Conn, a *transport.Arrival,
	converse func(context.Context, *peer) error,
) {
	p := &peer{guard: newGuard(conn, &s.Limits, s.Budget),
		out: transport.NewOutbox(conn, &s.Limits, s.Counters), place: a}
	p.strangers = s.Strangers
	defer p.Close()
	defer s.Remove(p)
	s.Add(p)
	err := converse(hard, p)
	if !s.Account(p, err, false) && p.expect {
		s.Counters.HandshakeFailures.Add(1)
	}
	_ = p.out.Drained(hard)
}

// secure performs the TLS handshake if the server uses TLS.
func (s *server) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if s.tls == nil {
		return conn, nil
	}
	if s.Limits.HandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Limits.HandshakeTimeout)
		defer cancel()
	}
	return s.tls.server(ctx, conn)
}

package zeromq

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// maxPingContext is the maximum context of a PING repeated in the PONG (ZMTP 3.1).
const maxPingContext = 16

// heartbeat returns a PING without a time to live or a context (ZMTP 3.1).
func heartbeat() []byte { return command(zmq4.CmdPing, []byte{0, 0}) }

// A profile is the configuration shared by all connections of a server or client.
type profile struct {
	kind      zmq4.SocketType
	server    bool
	identity  []byte
	buffers   *buffers
	limits    transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers // nil if all peers are trusted
	counters  *transport.Counters
}

// A peer is one connection after its handshake. One goroutine reads; any may send.
type peer struct {
	guard guard
	out   transport.Outbox
	quiet time.Duration // time without a message; used by the reader
	side  any           // observer of other events: a subscribable, ponged or restless, or none
}

// subscribable is notified of subscriptions and unsubscriptions.
type subscribable interface {
	subscribe(on bool, topic []byte) error
}

// ponged is notified of answers to heartbeats.
type ponged interface{ pong() }

// restless is called when a peer has been silent for quiet; an error closes the connection.
type restless interface {
	checkIdle(quiet time.Duration) error
}

// open turns a connection into a peer, or closes it.
func (pr *profile) open(conn net.Conn) (*peer, error) {
	p := &peer{}
	if err := pr.handshake(conn, p); err != nil {
		conn.Close()
		return nil, fmt.Errorf("handshake with %s: %w", conn.RemoteAddr(), err)
	}
	return p, nil
}

// handshake initializes p, which must be zero, as the peer of a connection.
func (pr *profile) handshake(conn net.Conn, p *peer) (err error) {
	defer func() {
		if v := recover(); v != nil { // the library panics on some inputs
			err = fmt.Errorf("%v: %w", v, transport.ErrProtocol)
		}
	}()
	if pr.limits.HandshakeTimeout > 0 {
		if err := conn.SetDeadline(time.Now().Add(pr.limits.HandshakeTimeout)); err != nil {
			return err
		}
	}
	g := &p.guard
	g.Conn, g.limits, g.budget, g.strangers, g.buffers, g.server = conn, &pr.limits, pr.budget,
		pr.strangers, pr.buffers, pr.server
	g.identity = len(pr.identity)
	if _, err = zmq4.Open(g, mechanism{pr.kind, pr.identity}, pr.kind, nil, pr.server,
		nil); err != nil {
		return err
	}
	p.out.Open(conn, &pr.limits, pr.counters)
	return p.begin()
}

// begin ends the handshake.
func (p *peer) begin() error {
	g := &p.guard
	if err := g.send(len(g.out)); err != nil {
		return err
	}
	g.out = nil
	g.phase = open
	g.owner = p
	if err := g.Conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	g.rearm()
	return nil
}

// receive returns the next message.
func (p *peer) receive() ([][]byte, error) {
	var frames [][]byte
	for more := true; more; {
		var body []byte
		var err error
		if body, more, err = p.guard.frame(); err != nil {
			return nil, err
		}
		frames = append(frames, body)
	}
	p.quiet = 0
	return frames, nil
}

// command executes a command. As required by ZMTP, unknown commands are ignored.
func (p *peer) command(name string, body []byte) error {
	switch name {
	case zmq4.CmdPing:
		if len(body) < 2 {
			return fmt.Errorf("PING without a time: %w", transport.ErrProtocol)
		}
		echo := body[2:]
		p.urgent(command(zmq4.CmdPong, echo[:min(len(echo), maxPingContext)]))
	case zmq4.CmdPong:
		if side, ok := p.side.(ponged); ok {
			side.pong()
		}
	case zmq4.CmdSubscribe, zmq4.CmdCancel:
		if side, ok := p.side.(subscribable); ok {
			return side.subscribe(name == zmq4.CmdSubscribe, bytes.Clone(body))
		}
	case zmq4.CmdError:
		return fmt.Errorf("peer says %.100q: %w", body, transport.ErrProtocol)
	}
	return nil
}

// urgent sends a command if the queue has room. A peer that does not read needs none.
func (p *peer) urgent(b []byte) { _ = p.out.Send(b) }

func (p *peer) ping() {
	if p.guard.pings() {
		p.urgent(heartbeat())
	}
}

// tick ends an interval without a message. A peer that was heard in it needs no heartbeat.
func (p *peer) tick(heard bool) error {
	p.quiet += p.guard.tick()
	if side, ok := p.side.(restless); ok {
		if err := side.checkIdle(p.quiet); err != nil {
			return err
		}
	}
	if !heard {
		p.ping()
	}
	return nil
}

// Remote returns the address of the other side.
func (p *peer) Remote() net.Addr { return p.guard.RemoteAddr() }

// Drain makes the reader return serve.ErrDraining; a partial message is discarded.
func (p *peer) Drain() { p.guard.drain() }

// finish waits until the queue is sent or ctx ends.
func (p *peer) finish(ctx context.Context) { _ = p.out.Drained(ctx) }

// Cut closes the connection; the reader notices and closes the peer.
func (p *peer) Cut() { p.guard.Conn.Close() }

// Close must only be called by the reader.
func (p *peer) Close() {
	p.out.Close()
	p.Cut()
	p.guard.release()
}

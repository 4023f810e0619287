package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

const (
	// bigMessage is the size from which an incoming message counts against the shared budget.
	bigMessage = 64 << 10
	// tick is the interval of checks on a silent connection.
	tick = 30 * time.Second
)

var (
	errSilent = errors.New("peer has sent nothing since it connected")
	errBudget = fmt.Errorf("too many large messages at once: %w", transport.ErrTooLarge)
)

// A wait is what a guard waits for; it determines the timeout.
type wait int

const (
	none  wait = iota
	first      // the first byte of a peer that must speak first
	quiet      // the next message
	rest       // the rest of a message that has begun
)

// A guard reads the frames of one connection within limits. It is used by one goroutine, except
// where stated otherwise.
type guard struct {
	conn      net.Conn
	limits    *transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers // nil if all peers are trusted
	frames    *payload.FrameReader

	trusted  atomic.Bool // any goroutine may set it
	draining atomic.Bool

	expect bool // the peer must speak soon: until its first message
	// idle is called at each tick without a message; its error closes the connection. May be nil.
	idle  func(quiet time.Duration) error
	quiet time.Duration // since the last message, in ticks

	armed wait
	mark  int // message bytes at which its deadline is extended
	taken int // reserved from the budget
	lent  int // reserved from strangers, instead of the budget
}

func newGuard(conn net.Conn, l *transport.Limits, b *transport.Budget) *guard {
	g := &guard{conn: conn, limits: l, budget: b}
	g.frames = payload.NewFrameReader(g, g.limit())
	return g
}

// next returns the next frame, which the caller owns.
func (g *guard) next() (payload.Frame, error) {
	g.frames.SetMax(g.limit())
	f, err := g.frames.NextFrame()
	if err != nil {
		return f, classify(err)
	}
	g.release()
	g.expect, g.quiet, g.mark = false, 0, 0
	return f, nil
}

// classify converts the error about a frame to one of package transport.
func classify(err error) error {
	switch {
	case errors.Is(err, payload.ErrLimit):
		return fmt.Errorf("%w: %w", transport.ErrTooLarge, err)
	case errors.Is(err, payload.ErrFrame):
		return fmt.Errorf("%w: %w", transport.ErrProtocol, err)
	}
	return err
}

// maxFrame limits a message regardless of other limits, so that its length fits in a 32-bit int.
const maxFrame = 1 << 30

// limit returns the current maximum size of a message.
func (g *guard) limit() int {
	n := g.limits.MaxUntrusted
	if g.trusted.Load() {
		n = g.limits.MaxMessage
	}
	if n < 0 || n > maxFrame {
		return maxFrame
	}
	return max(n, 1)
}

// Read reads from the network for the frame reader, and handles timeouts.
func (g *guard) Read(p []byte) (int, error) {
	have := g.frames.Buffered()
	if !g.take(have + len(p)) {
		return 0, errBudget
	}
	for {
		g.arm(g.waitsFor(have))
		n, err := g.conn.Read(p)
		switch {
		case n > 0:
			g.frames.SetMax(g.limit()) // the peer may have become trusted
			return n, nil
		case err == nil:
			return 0, io.ErrNoProgress
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		}
		if err := g.silence(); err != nil {
			return 0, err
		}
	}
}

// take reserves memory for a large message before it is read.
func (g *guard) take(n int) bool {
	if n <= bigMessage || n <= g.taken {
		return true
	}
	if !g.trusted.Load() && !g.borrow() {
		return false
	}
	if n <= g.lent {
		return true
	}
	if !g.budget.Take(n - g.taken) {
		return false
	}
	g.taken = n
	return true
}

// release returns the memory reserved for the message.
func (g *guard) release() {
	if g.taken > 0 {
		g.budget.Give(g.taken)
		g.taken = 0
	}
	if g.lent > 0 {
		g.strangers.Give(transport.SourceOf(g.conn.RemoteAddr()), g.lent)
		g.lent = 0
	}
}

// borrow waits for room for a large message of an untrusted peer, whose length is known only once
// it has arrived.
func (g *guard) borrow() (ok bool) {
	if g.lent > 0 {
		return true
	}
	g.lent, ok = g.strangers.Take(transport.SourceOf(g.conn.RemoteAddr()), g.limit(),
		g.limits.MessageTimeout)
	// The time spent waiting for room does not count against the peer.
	g.armed = none
	return ok || g.draining.Load() // the next read reports it
}

func (g *guard) waitsFor(have int) wait {
	switch {
	case have > 0:
		return rest
	case g.expect:
		return first
	}
	return quiet
}

// arm sets the read deadline when the kind of wait has changed, and within a message after each
// MiB.
func (g *guard) arm(w wait) {
	if have := g.frames.Buffered(); w == rest && have-g.mark >= 1<<20 {
		g.mark, g.armed = have, none
	}
	if w == g.armed {
		return
	}
	g.armed = w
	d := g.patience(w)
	t := time.Now().Add(d)
	if d <= 0 {
		t = time.Time{}
	}
	_ = g.conn.SetReadDeadline(t) // fails only on a closed connection, which Read reports
	if g.draining.Load() {
		g.interrupt()
	}
}

// silence handles an expired deadline.
func (g *guard) silence() error {
	armed := g.armed
	g.armed = none
	switch {
	case g.draining.Load():
		return serve.ErrDraining
	case armed == rest:
		return fmt.Errorf("message makes no progress: %w", transport.ErrProtocol)
	case armed == first:
		return errSilent
	}
	if g.idle == nil {
		return nil
	}
	g.quiet += tick
	return g.idle(g.quiet)
}

// drain makes the reader return serve.ErrDraining; a partial message is discarded. It is safe for
// concurrent use.
func (g *guard) drain() {
	g.draining.Store(true)
	g.interrupt()
}

func (g *guard) interrupt() { _ = g.conn.SetReadDeadline(time.Unix(1, 0)) }

// patience returns the timeout for w.
func (g *guard) patience(w wait) time.Duration {
	switch w {
	case first:
		return g.limits.HandshakeTimeout
	case rest:
		return g.limits.MessageTimeout
	}
	if g.idle == nil {
		return 0 // no idle check
	}
	return tick
}

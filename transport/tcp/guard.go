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
	// bigMessage is the size from which a message in assembly counts against the budget of all.
	bigMessage = 64 << 10
	// tick is how often a silent connection is looked at.
	tick = 30 * time.Second
)

var (
	errSilent = errors.New("peer has sent nothing since it connected")
	errBudget = fmt.Errorf("too many large messages at once: %w", transport.ErrTooLarge)
)

// A wait is what a guard waits for, and so how long it does.
type wait int

const (
	none  wait = iota
	first      // the first byte of a peer that is expected to speak
	quiet      // the next message
	rest       // more of a message that has begun
)

// A guard reads the frames of one connection within limits. One goroutine uses it, except for what says otherwise.
type guard struct {
	conn      net.Conn
	limits    *transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers // nil where all peers are trusted
	frames    *payload.FrameReader

	trusted  atomic.Bool // any goroutine may set it
	draining atomic.Bool

	expect bool // that the peer speaks soon: until its first message
	// idle is asked each tick without a message; nil closes nothing.
	idle  func(quiet time.Duration) error
	quiet time.Duration // since the last message, in ticks

	armed wait
	mark  int // bytes of the message from which on it gets more time
	taken int // from the budget
	lent  int // by strangers, in place of the budget
}

func newGuard(conn net.Conn, l *transport.Limits, b *transport.Budget) *guard {
	g := &guard{conn: conn, limits: l, budget: b}
	g.frames = payload.NewFrameReader(g, g.limit())
	return g
}

// next returns the next frame. What it is belongs to the caller.
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

// classify says in the words of package transport what is wrong with a frame.
func classify(err error) error {
	switch {
	case errors.Is(err, payload.ErrLimit):
		return fmt.Errorf("%w: %w", transport.ErrTooLarge, err)
	case errors.Is(err, payload.ErrFrame):
		return fmt.Errorf("%w: %w", transport.ErrProtocol, err)
	}
	return err
}

// maxFrame bounds a message whatever the limits say, so that its length fits in an int of 32 bits.
const maxFrame = 1 << 30

// limit is how large a message may be now.
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

// Read is how the reader of frames reads from the network. It looks after silence meanwhile.
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
			g.frames.SetMax(g.limit()) // the peer may have proved itself meanwhile
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

// take books memory for a large message before it is read.
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

// release gives back what the message took from the budget.
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

// borrow waits for room for a large message of a peer that is not trusted, whose length is known only when it has come.
func (g *guard) borrow() (ok bool) {
	if g.lent > 0 {
		return true
	}
	g.lent, ok = g.strangers.Take(transport.SourceOf(g.conn.RemoteAddr()), g.limit(), g.limits.MessageTimeout)
	// The time that the peer waited for room is not time that it took.
	g.armed = none
	return ok || g.draining.Load() // which the next read tells
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

// arm sets the read deadline when what is waited for has changed, and for a message also after each MiB.
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
	_ = g.conn.SetReadDeadline(t) // fails on a closed connection only, which Read will tell
	if g.draining.Load() {
		g.interrupt()
	}
}

// silence is called when the deadline has passed without a byte.
func (g *guard) silence() error {
	armed := g.armed
	g.armed = none
	switch {
	case g.draining.Load():
		return serve.ErrDraining
	case armed == rest:
		return fmt.Errorf("message does not go on: %w", transport.ErrProtocol)
	case armed == first:
		return errSilent
	}
	if g.idle == nil {
		return nil
	}
	g.quiet += tick
	return g.idle(g.quiet)
}

// drain makes the reader return serve.ErrDraining; a message in the middle is given up. Any goroutine may call it.
func (g *guard) drain() {
	g.draining.Store(true)
	g.interrupt()
}

func (g *guard) interrupt() { _ = g.conn.SetReadDeadline(time.Unix(1, 0)) }

// patience is how long the guard waits for w.
func (g *guard) patience(w wait) time.Duration {
	switch w {
	case first:
		return g.limits.HandshakeTimeout
	case rest:
		return g.limits.MessageTimeout
	}
	if g.idle == nil {
		return 0 // nobody asks
	}
	return tick
}

package zeromq

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

const (
	// maxCommand is the maximum size of a command, including READY.
	maxCommand = 4 << 10
	// wholeFrame is the size up to which a frame of a trusted peer is read directly into its own
	// memory: the size of a chunk of a file.
	wholeFrame = 2 << 20
	// bigFrame is the size from which a frame is assembled before the library sees it.
	bigFrame = 64 << 10
	// growth is the factor by which the memory of a frame being assembled grows.
	growth = 4
	// maxFrame limits a message regardless of other limits, so that its length fits in a 32-bit
	// int.
	maxFrame = 1 << 30
	// quietTick is the interval of checks on a silent connection without heartbeats.
	quietTick = 30 * time.Second
	// lastLook is how long a peer that is about to be given up is read from once more.
	lastLook = time.Second
)

var (
	errAtRest = errors.New("peer has sent no more")
	errDead   = errors.New("peer does not answer heartbeats")
)

// A phase is the state of a connection.
type phase int

const (
	greeting phase = iota
	ready          // the one command of the handshake
	open
)

// An owner is notified by a guard of events on its connection, on the reading goroutine.
type owner interface {
	command(name string, body []byte) error // every command after the handshake
	tick(heard bool) error                  // after each interval; heard if a byte was received in it
}

// A guard sits between the network and the library. The library reads only checked data from it:
// lengths are within the limits, large bodies are complete, and commands are removed.
type guard struct {
	net.Conn
	limits    *transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers
	owner     owner
	server    bool
	identity  int // length of the routing identity, which the greeting contains

	phase    phase
	minor    byte // of the peer's protocol version 3.x
	trusted  atomic.Bool
	draining atomic.Bool

	buffers *buffers // pool of read-ahead buffers; idle connections return theirs
	rests   bool     // between messages, return errAtRest instead of waiting for a byte
	woken   bool     // rest has read a byte or failed
	first   [1]byte
	got     int
	wakeErr error

	heard    bool // whether a byte was received in the current interval
	silences int  // intervals in a row without a byte
	looked   bool // the read deadline is that of the last look

	block    *[]byte // from buffers; nil while idle
	in       []byte  // read ahead, from rpos to wpos: the block, or larger
	rpos     int
	wpos     int
	pass     int    // bytes of the stream that the library may read
	big      []byte // assembled frame that the library may read
	frames   int    // frames read of the current message
	bytes    int
	more     bool
	taken    int  // reserved from the budget
	lent     int  // reserved from strangers, instead of the budget
	within   bool // within a message
	believed bool // whether the peer was trusted when the message began
	slow     bool // the read deadline is that of the message
	mark     int  // message bytes at which the deadline is extended

	out []byte // of the handshake, not yet sent
}

// buffers is a pool of read-ahead buffers of one size.
type buffers struct {
	size int
	pool sync.Pool // of *[]byte
}

func (b *buffers) get() *[]byte {
	if block, ok := b.pool.Get().(*[]byte); ok {
		return block
	}
	block := make([]byte, b.size)
	return &block
}

// rest waits without a buffer for the next byte between two messages. It must run on its own
// goroutine, whose stack then stays minimal.
func (g *guard) rest() {
	g.got, g.wakeErr = g.Conn.Read(g.first[:])
	g.woken = true
}

// receive reads from the network, or returns the byte read by rest.
func (g *guard) receive(p []byte) (int, error) {
	switch {
	case g.woken:
		g.woken = false
		return copy(p, g.first[:g.got]), g.wakeErr
	case g.rests && !g.within && g.rpos == g.wpos:
		return 0, errAtRest
	}
	return g.Conn.Read(p)
}

// Read returns bytes of complete, checked frames to the library.
func (g *guard) Read(p []byte) (int, error) {
	for {
		switch {
		case len(g.big) > 0:
			n := copy(p, g.big)
			if g.big = g.big[n:]; len(g.big) == 0 {
				g.big = nil // release the memory before the next large frame
			}
			return n, nil
		case g.pass > 0:
			return g.passOn(p[:min(len(p), g.pass)])
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

// frame returns the body of the next frame in memory of its own, and whether another frame of the
// message follows. A large frame is returned as assembled, whereas the library would copy it.
func (g *guard) frame() (body []byte, more bool, err error) {
	for len(g.big) == 0 && g.pass == 0 {
		if err := g.next(); err != nil {
			return nil, false, err
		}
	}
	if len(g.big) > 0 {
		h, _, err := parseHeader(g.big)
		body, g.big = g.big[h.len:], nil
		return body, g.more, err
	}
	h, err := g.header()
	if err != nil {
		return nil, false, err
	}
	g.rpos += h.len
	g.pass -= h.len
	body = make([]byte, g.pass)
	for at := 0; at < len(body); {
		n, err := g.passOn(body[at:])
		if err != nil {
			return nil, false, err
		}
		at += n
	}
	return body, g.more, nil
}

func (g *guard) passOn(p []byte) (n int, err error) {
	if g.rpos == g.wpos {
		if len(p) >= len(g.in) {
			n, err = g.read(p)
			g.pass -= n
			return n, err
		}
		if err := g.fill(); err != nil {
			return 0, err
		}
	}
	n = copy(p, g.in[g.rpos:g.wpos])
	g.rpos += n
	g.pass -= n
	return n, nil
}

// next checks the next item in the stream, and passes or consumes it.
func (g *guard) next() error {
	switch g.phase {
	case greeting:
		return g.greet()
	case ready:
		return g.handshakeFrame()
	}
	if !g.more && g.within {
		g.endMessage()
	}
	h, err := g.header()
	if err != nil {
		return err
	}
	if h.flags&flagCommand != 0 {
		return g.takeCommand(h)
	}
	return g.messageFrame(h)
}

// endMessage resets the state of the message. Its memory now belongs to the receiver.
func (g *guard) endMessage() {
	g.within, g.frames, g.bytes, g.mark = false, 0, 0, 0
	g.release()
	if g.slow {
		g.slow = false
		g.rearm()
	}
}

// release returns the memory reserved for the message.
func (g *guard) release() {
	if g.taken > 0 {
		g.budget.Give(g.taken)
		g.taken = 0
	}
	if g.lent > 0 {
		g.strangers.Give(transport.SourceOf(g.RemoteAddr()), g.lent)
		g.lent = 0
	}
}

func (g *guard) header() (header, error) {
	for {
		h, ok, err := parseHeader(g.in[g.rpos:g.wpos])
		if ok || err != nil {
			return h, err
		}
		if err := g.fill(); err != nil {
			return h, err
		}
	}
}

// takeCommand reads a complete command and passes it to the owner.
func (g *guard) takeCommand(h header) error {
	if h.size > maxCommand {
		return fmt.Errorf("command of %d bytes: %w", h.size, transport.ErrProtocol)
	}
	b, err := g.need(h.len + int(h.size))
	if err != nil {
		return err
	}
	name, body, err := splitCommand(b[h.len:])
	if err != nil {
		return err
	}
	g.rpos += len(b)
	return g.owner.command(name, body)
}

// messageFrame checks a frame against the limits and passes it.
func (g *guard) messageFrame(h header) error {
	if !g.within {
		g.believed = g.trusted.Load() // for the whole message: its limits are fixed when it begins
	}
	limit := g.limits.MaxUntrusted
	if g.believed {
		limit = g.limits.MaxMessage
	}
	if h.size > maxFrame || uint64(g.bytes)+h.size > maxFrame ||
		transport.Over(g.bytes+int(h.size), limit) {
		return fmt.Errorf("frame of %d bytes: %w", h.size, transport.ErrTooLarge)
	}
	if g.frames++; transport.Over(g.frames, g.limits.MaxFrames) {
		return fmt.Errorf("message of more than %d frames: %w", g.limits.MaxFrames,
			transport.ErrTooLarge)
	}
	g.within, g.more = true, h.flags&flagMore != 0
	g.bytes += int(h.size)
	if !g.believed && g.bytes > bigFrame && !g.borrow(limit) {
		return errBudget
	}
	switch whole := h.size <= bigFrame; {
	case !whole && !g.early(h):
		return g.assemble(h)
	case whole && g.bytes > bigFrame && !g.take(int(h.size)):
		return errBudget
	}
	g.pass = h.len + int(h.size)
	return nil
}

// early reports whether a large frame may be read directly into its own memory, which it reserves
// from the budget in advance.
func (g *guard) early(h header) bool {
	if h.size > wholeFrame || !g.believed || !g.budget.TakeEarly(int(h.size)) {
		return false
	}
	g.taken += int(h.size)
	return true
}

// borrow waits for room for the rest of a large message of an untrusted peer, which is at most
// limit bytes.
func (g *guard) borrow(limit int) (ok bool) {
	if g.lent > 0 {
		return true
	}
	n := g.bytes
	if g.more {
		n = limit
	}
	if limit < 0 {
		n = maxFrame
	}
	g.lent, ok = g.strangers.Take(transport.SourceOf(g.RemoteAddr()), n, g.limits.MessageTimeout)
	g.slow = false // time spent waiting for room does not count against the peer
	if g.draining.Load() {
		return true // the next read reports it
	}
	return ok
}

var errBudget = fmt.Errorf("too many large messages at once: %w", transport.ErrTooLarge)

func (g *guard) take(n int) bool {
	if g.lent > 0 {
		return true
	}
	if !g.budget.Take(n) {
		return false
	}
	g.taken += n
	return true
}

// assemble reads a complete large frame. Its memory grows with the received data.
func (g *guard) assemble(h header) error {
	total := h.len + int(h.size)
	b := append([]byte(nil), g.in[g.rpos:min(g.wpos, g.rpos+total)]...)
	g.rpos += len(b)
	for len(b) < total {
		if len(b) == cap(b) {
			room := min(max(growth*cap(b), bigFrame), total)
			if !g.take(room - cap(b)) {
				return errBudget
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := g.read(b[len(b):min(cap(b), total)])
		if err != nil {
			return err
		}
		b = b[:len(b)+n]
		g.progress(len(b))
	}
	g.big = b
	return nil
}

// progress extends the deadline of a slow message for each MiB received.
func (g *guard) progress(n int) {
	if g.slow && n-g.mark >= 1<<20 {
		g.mark, g.slow = n, false
	}
}

// need returns the next n bytes, which stay in the buffer.
func (g *guard) need(n int) ([]byte, error) {
	for g.wpos-g.rpos < n {
		if len(g.in) < n {
			g.in = append(make([]byte, 0, n), g.in[g.rpos:g.wpos]...)[:n]
			g.rpos, g.wpos = 0, g.wpos-g.rpos
		}
		if err := g.fill(); err != nil {
			return nil, err
		}
	}
	return g.in[g.rpos : g.rpos+n], nil
}

// fill reads ahead what is available, at least one byte.
func (g *guard) fill() error {
	if g.block == nil {
		g.block = g.buffers.get()
		g.in = *g.block
	}
	if g.rpos > 0 {
		g.wpos = copy(g.in, g.in[g.rpos:g.wpos])
		g.rpos = 0
	}
	n, err := g.read(g.in[g.wpos:])
	g.wpos += n
	if errors.Is(err, errAtRest) {
		g.buffers.pool.Put(g.block)
		g.block, g.in = nil, nil
	}
	return err
}

// read reads from the network and handles timeouts.
func (g *guard) read(p []byte) (int, error) {
	if g.phase != open {
		n, err := g.Conn.Read(p)
		return n, eof(n, err)
	}
	if g.within && !g.slow {
		g.slow = true
		g.rearm()
	}
	for {
		n, err := g.receive(p)
		switch {
		case n > 0:
			g.heard, g.silences = true, 0
			return n, nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, eof(0, err)
		}
		if err := g.tickOver(); err != nil {
			return 0, err
		}
	}
}

// eof converts an end of stream within a frame to a different error for the library.
func eof(n int, err error) error {
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// tickOver ends an interval.
func (g *guard) tickOver() error {
	dead := g.pings() && g.limits.DeadAfter > 0 && g.silences >= g.limits.DeadAfter
	switch {
	case g.draining.Load():
		return serve.ErrDraining
	case (g.slow || dead) && !g.looked:
		g.lookAgain()
		return nil
	case g.slow:
		return fmt.Errorf("message makes no progress: %w", transport.ErrProtocol)
	case dead:
		return errDead
	}
	if err := g.owner.tick(g.heard); err != nil {
		return err
	}
	if !g.heard {
		g.silences++
	}
	g.heard = false
	g.rearm()
	return nil
}

// pings reports whether heartbeats are sent to the peer: only ZMTP 3.1 peers answer them.
func (g *guard) pings() bool { return g.limits.PingEvery > 0 && g.minor >= 1 }

func (g *guard) tick() time.Duration {
	if g.limits.PingEvery > 0 {
		return g.limits.PingEvery
	}
	return quietTick
}

// rearm sets the read deadline again.
func (g *guard) rearm() {
	d := g.tick()
	if g.slow {
		d = g.limits.MessageTimeout
	}
	g.looked = false
	g.readWithin(d)
}

// lookAgain allows one more read before the peer is given up: once a deadline has passed, Read does
// not return what the peer has sent in time, and a process that was stopped or starved passes it.
func (g *guard) lookAgain() {
	g.looked = true
	g.readWithin(lastLook)
}

// readWithin sets the read deadline; there is none if d is not positive.
func (g *guard) readWithin(d time.Duration) {
	t := time.Now().Add(d)
	if d <= 0 {
		t = time.Time{}
	}
	_ = g.Conn.SetReadDeadline(t) // fails only on a closed connection, which Read reports
	if g.draining.Load() {
		g.interrupt()
	}
}

// drain makes the reader return serve.ErrDraining; a partial message is discarded.
func (g *guard) drain() {
	g.draining.Store(true)
	g.interrupt()
}

func (g *guard) interrupt() { _ = g.Conn.SetReadDeadline(time.Unix(1, 0)) }

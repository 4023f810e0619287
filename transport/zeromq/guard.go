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
	// maxCommand bounds a command, READY among them.
	maxCommand = 4 << 10
	// wholeFrame is the size up to which a frame of a known peer is received where it stays. It is that of a piece of a file.
	wholeFrame = 2 << 20
	// bigFrame is the size from which a frame is assembled before the library hears of it.
	bigFrame = 64 << 10
	// growth is by how much the memory of a frame in assembly grows when it is full.
	growth = 4
	// maxFrame bounds a message whatever the limits say, so that its length fits in an int of 32 bits.
	maxFrame = 1 << 30
	// quietTick is how often a silent connection is looked at when heartbeats are off.
	quietTick = 30 * time.Second
)

var (
	errAtRest = errors.New("peer has sent no more")
	errDead   = errors.New("peer does not answer heartbeats")
)

// A phase is how far a connection has come.
type phase int

const (
	greeting phase = iota
	ready          // the one command of the handshake
	open
)

// An owner is told by a guard what happens on its connection, on the reading goroutine.
type owner interface {
	command(name string, body []byte) error // every command after the handshake
	silent() error                          // after each interval without a byte
}

// A guard stands between the network and the library. What the library reads from it has been checked: lengths are
// within the limits, large bodies are complete, and commands have been taken out.
type guard struct {
	net.Conn
	limits    *transport.Limits
	budget    *transport.Budget
	strangers *transport.Strangers
	owner     owner
	server    bool
	identity  int // length of the routing identity, which shows in the greeting

	phase    phase
	minor    byte // of the peer's protocol version 3.x
	trusted  atomic.Bool
	draining atomic.Bool

	buffers *buffers // where read-ahead buffers come from; those of a connection at rest go back there
	rests   bool     // between messages errAtRest is returned in place of waiting for a byte
	woken   bool     // rest has read a byte, or failed
	first   [1]byte
	got     int
	wakeErr error

	silences int // intervals without a byte, in a row

	block    *[]byte // of buffers; nil at rest
	in       []byte  // read ahead, from rpos to wpos: the block, or larger
	rpos     int
	wpos     int
	pass     int    // bytes that the library may read on from the stream
	big      []byte // an assembled frame that the library may read on
	frames   int    // of the message that is being read
	bytes    int
	more     bool
	taken    int  // from the budget
	lent     int  // by strangers, in place of the budget
	within   bool // a message has begun and not ended
	believed bool // the peer was trusted when the message began
	slow     bool // the read deadline is that of the message
	mark     int  // bytes of the message from which on the deadline is renewed

	out []byte // of the handshake, not yet sent
}

// buffers are for what is read ahead, all of one size.
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

// rest waits for the next byte between two messages, without a buffer. It is for a goroutine of its own: on a stack that nothing
// else has used it needs but the smallest there is.
func (g *guard) rest() {
	g.got, g.wakeErr = g.Conn.Read(g.first[:])
	g.woken = true
}

// receive reads from the network, or returns what rest has read.
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

// Read is how the library reads: the bytes of whole, checked frames.
func (g *guard) Read(p []byte) (int, error) {
	for {
		switch {
		case len(g.big) > 0:
			n := copy(p, g.big)
			if g.big = g.big[n:]; len(g.big) == 0 {
				g.big = nil // or it would stay in memory until the next large frame
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

// frame returns the body of the next frame of a message, in memory of its own, and whether another one follows in the message.
// A large frame is returned as it was assembled, where the library would copy it.
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

// next looks at what comes next in the stream, and lets it pass or consumes it.
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

// endMessage forgets the message that was read, whose memory is now the receiver's.
func (g *guard) endMessage() {
	g.within, g.frames, g.bytes, g.mark = false, 0, 0, 0
	g.release()
	if g.slow {
		g.slow = false
		g.rearm()
	}
}

// release gives back what the message took from the budget.
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

// takeCommand reads a command whole and hands it to the owner.
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

// messageFrame checks a frame against the limits and lets it pass.
func (g *guard) messageFrame(h header) error {
	if !g.within {
		g.believed = g.trusted.Load() // for the whole message: what it may take was decided when it began
	}
	limit := g.limits.MaxUntrusted
	if g.believed {
		limit = g.limits.MaxMessage
	}
	if h.size > maxFrame || uint64(g.bytes)+h.size > maxFrame || transport.Over(g.bytes+int(h.size), limit) {
		return fmt.Errorf("frame of %d bytes: %w", h.size, transport.ErrTooLarge)
	}
	if g.frames++; transport.Over(g.frames, g.limits.MaxFrames) {
		return fmt.Errorf("message of more than %d frames: %w", g.limits.MaxFrames, transport.ErrTooLarge)
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

// early reports whether a large frame may be received where it stays, and takes its memory from the budget before it comes.
func (g *guard) early(h header) bool {
	if h.size > wholeFrame || !g.believed || !g.budget.TakeEarly(int(h.size)) {
		return false
	}
	g.taken += int(h.size)
	return true
}

// borrow waits for room for the rest of a large message of a peer that is not trusted, which is as large as the limit at most.
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
	g.slow = false // the time that the peer waited for room is not time that it took
	if g.draining.Load() {
		return true // the next read tells
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

// assemble reads a large frame whole, in memory that grows with what arrives.
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

// progress gives a message that comes slowly more time for each MiB that has come.
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

// fill reads ahead what there is, at least one byte.
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

// read reads from the network, and looks after silence meanwhile.
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
			g.silences = 0
			return n, nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, eof(0, err)
		}
		if err := g.silence(g.silences); err != nil {
			return 0, err
		}
		g.silences++
	}
}

// eof makes an end in the middle of something an error of its own for the library.
func eof(n int, err error) error {
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// silence is called when an interval has passed without a byte; the first may have been shorter.
func (g *guard) silence(before int) error {
	switch {
	case g.draining.Load():
		return serve.ErrDraining
	case g.slow:
		return fmt.Errorf("message does not go on: %w", transport.ErrProtocol)
	case g.pings() && g.limits.DeadAfter > 0 && before >= g.limits.DeadAfter:
		return errDead
	}
	if err := g.owner.silent(); err != nil {
		return err
	}
	g.rearm()
	return nil
}

// pings reports whether the peer is sent heartbeats: those of ZMTP 3.1 answer them.
func (g *guard) pings() bool { return g.limits.PingEvery > 0 && g.minor >= 1 }

func (g *guard) tick() time.Duration {
	if g.limits.PingEvery > 0 {
		return g.limits.PingEvery
	}
	return quietTick
}

// rearm sets the read deadline anew.
func (g *guard) rearm() {
	d := g.tick()
	if g.slow {
		d = g.limits.MessageTimeout
	}
	t := time.Now().Add(d)
	if d <= 0 {
		t = time.Time{}
	}
	_ = g.Conn.SetReadDeadline(t) // fails on a closed connection only, which Read will tell
	if g.draining.Load() {
		g.interrupt()
	}
}

// drain makes the reader return serve.ErrDraining; a message in the middle is given up.
func (g *guard) drain() {
	g.draining.Store(true)
	g.interrupt()
}

func (g *guard) interrupt() { _ = g.Conn.SetReadDeadline(time.Unix(1, 0)) }

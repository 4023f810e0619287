package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	flushBytes   = 256 << 10 // in one system call, and under one deadline
	flushEntries = 64
)

// An Outbox sends whole messages to one peer without ever waiting for it. What the kernel takes at once goes at once;
// the rest is queued, up to the limits QueueMessages and QueueBytes, and a goroutine that lives until the queue is empty
// sends it. A peer that takes nothing for WriteStall is closed. Transports build their connections on it; several
// goroutines may use it.
type Outbox struct {
	conn     net.Conn
	raw      syscall.RawConn // nil where the system or the connection cannot write without waiting
	limits   *Limits
	counters *Counters

	mu      sync.Mutex
	queue   []entry // queue[head:] waits; of the first a part may be gone
	head    int
	msgs    int // in the queue
	bytes   int
	flushed chan struct{} // closed when the queue is empty; nil while there is no flusher
	err     error         // why nothing can be sent any more
}

// An entry is a piece of the stream with the number of messages that end in it.
type entry struct {
	b    []byte
	msgs int
}

// NewOutbox returns the outbox of conn, on which nobody else may write. What it sends, drops and closes is counted in c.
func NewOutbox(conn net.Conn, l *Limits, c *Counters) *Outbox {
	o := &Outbox{}
	o.Open(conn, l, c)
	return o
}

// Open makes the zero Outbox that of conn, as NewOutbox does.
func (o *Outbox) Open(conn net.Conn, l *Limits, c *Counters) {
	o.conn, o.raw, o.limits, o.counters = conn, rawOf(conn), l, c
}

// TimedOut reports whether err is how the system tells that it has given a connection up, since the other side did not take
// or acknowledge what was sent for the time of [SetUserTimeout], or did not answer to keepalive. For a peer that does not
// read that may come before the outbox's own patience ends.
func TimedOut(err error) bool { return errors.Is(err, syscall.ETIMEDOUT) }

// Send sends one message or command, or nothing of it when the queue is full.
func (o *Outbox) Send(b []byte) error {
	_, err := o.SendParts(b, nil)
	return err
}

// SendParts sends one message given as two pieces, of which the second may be shared with others. It reports whether
// it keeps them in the queue; if not, they are the caller's again.
func (o *Outbox) SendParts(b, tail []byte) (kept bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false, ErrGone
	}
	if o.flushed != nil && !o.fits(1, len(b)+len(tail)) {
		o.counters.Dropped.Add(1)
		return false, ErrQueueFull
	}
	o.counters.Sent.Add(1)
	if b = o.write(b); len(b) == 0 && len(tail) > 0 {
		b, tail = o.write(tail), nil
	}
	o.enqueue(b, btoi(len(tail) == 0))
	o.enqueue(tail, 1)
	return len(b)+len(tail) > 0, o.gone()
}

func (o *Outbox) gone() error {
	if o.err != nil {
		return ErrGone
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// SendBatch sends the messages that lie one after another in b and end at ends; those that find the queue full are
// dropped, the newest first. b is kept and must not change.
func (o *Outbox) SendBatch(b []byte, ends []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	n := len(ends)
	rest := b
	if o.flushed == nil {
		rest = o.write(b)
	}
	begun := len(b) - len(rest)
	first := 0
	for first < n && ends[first] <= begun {
		first++
	}
	last := o.fitting(ends, first, begun, o.flushed == nil)
	o.counters.Sent.Add(uint64(last))
	o.counters.Dropped.Add(uint64(n - last))
	if last > first {
		o.enqueue(b[begun:ends[last-1]], last-first)
	}
}

// fitting returns how many of the messages, beginning with first, the queue takes. One that has been begun must go on.
func (o *Outbox) fitting(ends []int, first, begun int, must bool) int {
	last := first
	for last < len(ends) && (must || o.fits(last+1-first, ends[last]-begun)) {
		last++
		must = false
	}
	return last
}

func (o *Outbox) fits(msgs, bytes int) bool {
	return !Over(o.msgs+msgs, o.limits.QueueMessages) && !Over(o.bytes+bytes, o.limits.QueueBytes)
}

// write sends what can be sent at once, and returns the rest.
func (o *Outbox) write(b []byte) []byte {
	if o.flushed != nil || len(b) == 0 || o.err != nil || o.raw == nil {
		return b
	}
	n, err := o.counters.writing.write(o.raw, b)
	if err != nil {
		o.fail(err)
		return nil
	}
	return b[n:]
}

func (o *Outbox) enqueue(b []byte, msgs int) {
	if len(b) == 0 || o.err != nil {
		return
	}
	o.queue = append(o.queue, entry{b, msgs})
	o.msgs += msgs
	o.bytes += len(b)
	if o.flushed == nil {
		o.flushed = make(chan struct{})
		go o.flush()
	}
}

// flush sends the queue and ends. A peer that takes nothing for too long is closed.
func (o *Outbox) flush() {
	var vec [flushEntries][]byte
	for {
		batch := o.batch(vec[:0])
		if len(batch) == 0 {
			return
		}
		if o.limits.WriteStall > 0 {
			_ = o.conn.SetWriteDeadline(time.Now().Add(o.limits.WriteStall)) // the write will tell
		}
		n, err := (*net.Buffers)(&batch).WriteTo(o.conn)
		o.written(int(n), err)
	}
}

// batch returns what is to be sent next; nothing when the flusher is to end.
func (o *Outbox) batch(vec [][]byte) [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := flushBytes
	for _, e := range o.queue[o.head:] {
		if room == 0 || len(vec) == cap(vec) {
			break
		}
		piece := e.b[:min(len(e.b), room)]
		vec = append(vec, piece)
		room -= len(piece)
	}
	if len(vec) == 0 {
		_ = o.conn.SetWriteDeadline(time.Time{})
		o.queue, o.head = nil, 0
		close(o.flushed)
		o.flushed = nil
	}
	return vec
}

// written takes n bytes off the queue.
func (o *Outbox) written(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n > 0 && o.head < len(o.queue) {
		e := &o.queue[o.head]
		k := min(n, len(e.b))
		e.b = e.b[k:]
		n -= k
		o.bytes -= k
		if len(e.b) == 0 {
			o.msgs -= e.msgs
			*e = entry{}
			o.head++
		}
	}
	o.compact()
	if err != nil {
		o.fail(err)
	}
}

func (o *Outbox) compact() {
	if o.head > 64 && o.head > len(o.queue)/2 {
		n := copy(o.queue, o.queue[o.head:])
		clear(o.queue[n:])
		o.queue, o.head = o.queue[:n], 0
	}
}

// fail ends the connection; the reader notices and cleans up.
func (o *Outbox) fail(err error) {
	if o.err != nil {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || TimedOut(err) {
		o.counters.Evicted.Add(1)
	}
	o.end(err)
	o.conn.Close()
}

func (o *Outbox) end(err error) {
	o.err = err
	o.queue, o.head, o.msgs, o.bytes = nil, 0, 0, 0
}

// Close drops what is queued and lets nothing more be sent. The connection is closed by the caller.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.end(ErrGone)
	}
}

// Drained waits until the queue is empty.
func (o *Outbox) Drained(ctx context.Context) error {
	o.mu.Lock()
	flushed := o.flushed
	o.mu.Unlock()
	if flushed == nil {
		return nil
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

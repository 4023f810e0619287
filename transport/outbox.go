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
	flushBytes   = 256 << 10 // per system call and deadline
	flushEntries = 64
)

// An Outbox sends complete messages to one peer without ever blocking. Data is written at once as
// far as the kernel accepts it. The rest is queued, up to QueueMessages and QueueBytes, and sent by
// a goroutine that ends when the queue is empty. A peer that accepts nothing for WriteStall is
// closed. Transports build their connections on it. It is safe for concurrent use.
type Outbox struct {
	conn     net.Conn
	raw      syscall.RawConn // nil if non-blocking writes are not supported
	limits   *Limits
	counters *Counters

	mu      sync.Mutex
	queue   []entry // queue[head:] is pending; the first may be partly sent
	head    int
	msgs    int // in the queue
	bytes   int
	flushed chan struct{} // closed when the queue is empty; nil if there is no flusher
	err     error         // why nothing more can be sent
}

// An entry is a piece of the stream and the number of messages that end in it.
type entry struct {
	b    []byte
	msgs int
}

// NewOutbox returns the outbox of conn. Nothing else may write to conn. c counts messages sent and
// dropped, and peers closed.
func NewOutbox(conn net.Conn, l *Limits, c *Counters) *Outbox {
	o := &Outbox{}
	o.Open(conn, l, c)
	return o
}

// Open initializes a zero Outbox for conn, like NewOutbox.
func (o *Outbox) Open(conn net.Conn, l *Limits, c *Counters) {
	o.conn, o.raw, o.limits, o.counters = conn, rawOf(conn), l, c
}

// TimedOut reports whether err means that the system has dropped a connection: the peer did not
// acknowledge data within the time of [SetUserTimeout], or did not answer keepalives. If a peer
// does not read, this may happen before WriteStall ends.
func TimedOut(err error) bool { return errors.Is(err, syscall.ETIMEDOUT) }

// Send sends one message or command. If the queue is full, it sends nothing and returns
// ErrQueueFull.
func (o *Outbox) Send(b []byte) error {
	_, err := o.SendParts(b, nil)
	return err
}

// SendParts sends one message given as two pieces; tail may be shared with other messages. kept
// reports whether the queue retains them; otherwise the caller may reuse them.
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

// SendBatch sends consecutive messages in b that end at the offsets ends. Messages that do not fit
// into the queue are dropped, newest first. b is retained and must not be modified.
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

// fitting returns how many messages from first on fit into the queue. A message partly sent must be
// completed.
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

// write writes as much as possible without blocking and returns the rest.
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

// flush sends the queue and then ends. It closes a peer that accepts nothing for too long.
func (o *Outbox) flush() {
	var vec [flushEntries][]byte
	for {
		batch := o.batch(vec[:0])
		if len(batch) == 0 {
			return
		}
		if o.limits.WriteStall > 0 {
			// the write reports an error
			_ = o.conn.SetWriteDeadline(time.Now().Add(o.limits.WriteStall))
		}
		n, err := (*net.Buffers)(&batch).WriteTo(o.conn)
		o.written(int(n), err)
	}
}

// batch returns the buffers to send next, or none if the flusher must end.
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

// written removes n sent bytes from the queue.
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

// fail closes the connection. Its reader notices and cleans up.
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

// Close discards the queue and prevents further sends. The caller closes the connection.
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

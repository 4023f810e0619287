package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	busQueue   = 8192     // events that wait for a listener
	busBytes   = 64 << 20 // the same in bytes
	busSenders = 1024     // processes whose numbers are remembered
	eventHead  = 64       // more than the number, the time and the process of an event take

	// busAge is how far the sending time of an event may be from the clock of the member that takes it, so
	// that a recorded event cannot be sent again later. Members with such different clocks do not hear each
	// other.
	busAge = 5 * time.Minute
	// busWarning is the least time between two warnings about events of a wrong time.
	busWarning = 10 * time.Minute
)

// A Bus carries events between members over core NATS: an event reaches the members that listen at
// the time, or nobody. It is safe for concurrent use.
type Bus struct {
	c      *Cluster
	sealer *Sealer
}

// Bus returns the bus of the cluster.
func (c *Cluster) Bus() *Bus {
	return &Bus{c, c.secret.Sealer(c.o.Name, forBus)}
}

// Send sends an event to the other members. nil means that it was handed to the connection. The
// error wraps ErrTooLarge, or ErrUnavailable while there is no connection.
func (b *Bus) Send(event []byte) error {
	if size := len(event) + sealOverhead + eventHead; size > b.c.payload() {
		return fmt.Errorf("send event: %w: %d bytes, the server allows %d", ErrTooLarge, size, b.c.payload())
	}
	b.c.sending.Lock() // so that numbers go out in order
	defer b.c.sending.Unlock()
	if !b.c.connected.Load() {
		return fmt.Errorf("send event: %w", ErrUnavailable)
	}
	b.c.sent++
	body := sentEvent{b.c.sent, time.Now(), b.c.instance, event}.marshal()
	if err := b.c.nc.Publish(b.c.subject(forBus), b.sealer.Seal(body, b.c.subject(forBus))); err != nil {
		return fmt.Errorf("send event: %w: %w", ErrUnavailable, err)
	}
	return nil
}

// Listen returns a Listener for the events that other members send from now on.
func (b *Bus) Listen() (*Listener, error) {
	l := &Listener{b: b, seen: b.c.heard.copy()}
	sub, err := b.c.nc.SubscribeSync(b.c.subject(forBus))
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(busQueue, busBytes), b.c.nc.FlushTimeout(2*answerTime))
		if err != nil {
			_ = sub.Unsubscribe() // fails only if the connection is closed for good, and then it has ended
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen to the bus of cluster %s: %w: %w", b.c.o.Name, ErrUnavailable, err)
	}
	l.sub = sub
	return l, nil
}

// A Listener receives events. At most 8192 events or 64 MiB wait for it; what comes meanwhile is
// lost and counted.
type Listener struct {
	b   *Bus
	sub *nats.Subscription

	mu     sync.Mutex
	seen   map[string]sender // by process
	lost   uint64
	alien  uint64
	warned time.Time // of events of a wrong time
}

// A sender is what is remembered of a process that sends events.
type sender struct {
	last uint64    // number of its last event
	sent time.Time // its sending time
	here bool      // the Listener has got it itself, not one before it
}

// A heardSenders has what closed Listeners knew of senders, so that the next one refuses what they got.
type heardSenders struct {
	mu  sync.Mutex
	all map[string]sender
}

// copy returns the senders for a new Listener.
func (h *heardSenders) copy() map[string]sender {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]sender, len(h.all))
	for id, s := range h.all {
		s.here = false
		all[id] = s
	}
	return all
}

// add adds what a Listener knows.
func (h *heardSenders) add(seen map[string]sender) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[string]sender{}
	}
	for id, s := range seen {
		if s.last > h.all[id].last {
			h.all[id] = s
		}
	}
	forgetOld(h.all, time.Now())
}

// forgetOld removes the senders whose recorded events are too old to be taken.
func forgetOld(senders map[string]sender, now time.Time) {
	maps.DeleteFunc(senders, func(_ string, s sender) bool { return now.Sub(s.sent) > busAge })
}

// Next returns the next event of another member. The error is that of ctx, or wraps ErrClosed.
func (l *Listener) Next(ctx context.Context) ([]byte, error) {
	for {
		m, err := l.sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			continue // the numbers of the events tell how many are lost
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("listen to the bus of cluster %s: %w: %w", l.b.c.o.Name, ErrClosed, err)
		}
		if event, ok := l.open(m.Data); ok {
			return event, nil
		}
	}
}

// All returns the events until ctx ends or the cluster is closed.
func (l *Listener) All(ctx context.Context) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			event, err := l.Next(ctx)
			if err != nil || !yield(event) {
				return
			}
		}
	}
}

// Lost returns how many events of other members did not arrive, as their numbers show. Events before
// the first that arrived of a member are not counted.
func (l *Listener) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Refused returns how many messages were not sealed by the cluster, were repeated, or were sent more
// than five minutes ago or ahead.
func (l *Listener) Refused() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alien
}

// Close ends the Listener. Next then fails.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.c.heard.add(l.seen)
	return l.sub.Unsubscribe()
}

// open returns the event in a message, unless it is an own one, a repeated or old one, or a forgery.
func (l *Listener) open(sealed []byte) ([]byte, bool) {
	body, err := l.b.sealer.Open(sealed, l.b.c.subject(forBus))
	e, ok := readEvent(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && ok && e.sender == l.b.c.instance:
		return nil, false
	case err != nil || !ok || !l.take(e, time.Now()):
		l.alien++
		return nil, false
	}
	return e.content, true
}

// take notes that an event arrives, and reports whether it is new. The caller holds mu.
func (l *Listener) take(e sentEvent, now time.Time) bool {
	from, known := l.seen[e.sender]
	if off := now.Sub(e.at); off.Abs() > busAge {
		l.warn(off, now)
		return false
	}
	if known && e.number <= from.last {
		return false
	}
	if !known && len(l.seen) >= busSenders {
		if forgetOld(l.seen, now); len(l.seen) >= busSenders {
			return false
		}
	}
	if from.here {
		l.lost += e.number - from.last - 1
	}
	if e.at.After(from.sent) {
		from.sent = e.at
	}
	from.last, from.here = e.number, true
	l.seen[e.sender] = from
	return true
}

// warn warns of an event of a wrong time, now and then. The caller holds mu.
func (l *Listener) warn(off time.Duration, now time.Time) {
	if now.Sub(l.warned) < busWarning {
		return
	}
	l.warned = now
	l.b.c.o.Log.Warnf("An event of another master of the cluster is refused: its time differs by %s. "+
		"A clock is wrong, or somebody repeats old events", off.Abs().Round(time.Second))
}

// A sentEvent is an event on the bus, as it is sealed.
type sentEvent struct {
	number  uint64 // rises by one with each event of its sender
	at      time.Time
	sender  string // the process
	content []byte
}

func (e sentEvent) marshal() []byte {
	body := binary.AppendUvarint(make([]byte, 0, eventHead+len(e.content)), e.number)
	body = binary.AppendVarint(body, e.at.UnixMilli())
	body = binary.AppendUvarint(body, uint64(len(e.sender)))
	return append(append(body, e.sender...), e.content...)
}

// readEvent reads what marshal wrote.
func readEvent(body []byte) (e sentEvent, ok bool) {
	number, n := binary.Uvarint(body)
	if n <= 0 {
		return sentEvent{}, false
	}
	body = body[n:]
	at, n := binary.Varint(body)
	if n <= 0 {
		return sentEvent{}, false
	}
	body = body[n:]
	size, n := binary.Uvarint(body)
	if n <= 0 || size > uint64(len(body)-n) {
		return sentEvent{}, false
	}
	body = body[n:]
	return sentEvent{number, time.UnixMilli(at), string(body[:size]), body[size:]}, true
}

package eventbus

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
)

// Options configure a Bus. The zero value has Salt's defaults.
type Options struct {
	MaxEventSize int                // option `max_event_size` in bytes; 0 means 1048576
	ZoneStamp    bool               // write `_stamp` with +00:00, as Salt 3008 does
	Now          func() time.Time   // nil means time.Now
	Log          logrus.FieldLogger // nil means no log
	// Private selects the tags of events that contain secrets, whoever fires them. Such events are
	// delivered only to subscriptions with Private set, never to sockets. nil selects none. Private
	// is called for every event and must be fast.
	Private func(tag string) bool
	// Share gets each event that is fired or received from a socket, in order, for other buses; nil
	// means that there are none. It does not get the events of FireHere, FireMapHere and Deliver. It
	// must be fast and must not use the bus.
	Share func(Event)
}

// A Bus delivers every event to every reader. It is safe for concurrent use.
type Bus struct {
	encoder encoder
	log     logrus.FieldLogger
	private func(tag string) bool // nil selects none
	share   func(Event)           // nil shares nothing

	mu        sync.Mutex // held while an event is delivered, so that all readers see the same order
	readers   []*reader
	listeners []*listener // listeners whose backlog is accepted before an event is delivered
	polled    time.Time   // when FireMapHere last did that
	fired     uint64
}

// admitPause is the time in which FireMapHere does not look for new readers again.
const admitPause = 100 * time.Microsecond

// A reader is a subscription or a connection to the pub socket.
type reader struct {
	*queue
	name    string
	wants   func(tag string) bool // nil means all
	private bool                  // receives private events too
}

// New returns a Bus without readers.
func New(o Options) *Bus {
	b := &Bus{encoder: newEncoder(o.MaxEventSize, o.ZoneStamp, o.Now), log: o.Log,
		private: o.Private, share: o.Share}
	if b.log == nil {
		b.log = logging.Discard()
	}
	return b
}

func newEncoder(size int, zone bool, now func() time.Time) encoder {
	if size <= 0 {
		size = DefaultMaxEventSize
	}
	if now == nil {
		now = time.Now
	}
	return encoder{max: size, zone: zone, now: now}
}

// Fire publishes an event: m with `_stamp` added, trimmed if it is larger than MaxEventSize. m is
// not modified. The error wraps ErrBadEvent for an invalid tag, or names the value in m that cannot
// be encoded.
func (b *Bus) Fire(tag string, m *data.Map) error {
	e, err := b.encoder.encode(tag, m)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// FireRaw is like Fire for values that are already encoded in bin form; they are sent unchanged.
// Values from the wire must go through payload.Rewrite first.
func (b *Bus) FireRaw(tag string, fields payload.Fields) error {
	e, err := b.encoder.encodeRaw(tag, fields)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// FireMap is like FireRaw for a whole encoded map, which must be valid and in bin form.
func (b *Bus) FireMap(tag string, m data.Raw) error {
	e, err := b.encoder.encodeMap(tag, m)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// FireHere is Fire for an event that is not shared, because every bus of a cluster fires it itself.
func (b *Bus) FireHere(tag string, m *data.Map) error {
	e, err := b.encoder.encode(tag, m)
	if err != nil {
		return err
	}
	e.Here = true
	b.publishHere(e)
	return nil
}

// FireMapHere is FireMap for an event that is not shared. It is meant for events that are fired in
// hundreds: it looks for new readers only every admitPause, so a reader that has just connected may
// miss an event.
func (b *Bus) FireMapHere(tag string, m data.Raw) error {
	if !b.wanted(tag) {
		return nil
	}
	e, err := b.encoder.encodeMap(tag, m)
	if err != nil {
		return err
	}
	e.Here = true
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(e)
	return nil
}

// wanted reports whether a reader gets events of a tag. If none does, the event counts as fired.
func (b *Bus) wanted(tag string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.polled) > admitPause {
		b.admitWaiting()
		b.polled = now
	}
	private := b.private != nil && b.private(tag)
	if slices.ContainsFunc(b.readers, func(r *reader) bool { return r.gets(tag, private) }) {
		return true
	}
	b.fired++
	return false
}

// Deliver publishes an event of another bus, from its Bytes. It is not shared. Errors wrap
// ErrBadEvent.
func (b *Bus) Deliver(event []byte) (Event, error) {
	e, err := ParseEvent(event)
	if err != nil {
		return Event{}, err
	}
	e = framed(e.Tag, event, len(e.Data))
	b.publishHere(e)
	return e, nil
}

// publishHere publishes an event that is not shared.
func (b *Bus) publishHere(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver(e)
}

// Fired returns the number of events fired so far.
func (b *Bus) Fired() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fired
}

func (b *Bus) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver(e)
	if b.share != nil {
		b.share(e)
	}
}

// deliver passes an event to the readers, also to those that are just connecting. The caller holds mu.
func (b *Bus) deliver(e Event) {
	b.admitWaiting()
	b.pass(e)
}

// admitWaiting turns the connections that wait at listeners into readers. The caller holds mu.
func (b *Bus) admitWaiting() {
	for _, l := range b.listeners {
		l.admitWaiting()
	}
}

// pass passes an event to the readers. The caller holds mu.
func (b *Bus) pass(e Event) {
	b.fired++
	private := b.private != nil && b.private(e.Tag)
	for _, r := range b.readers {
		if r.gets(e.Tag, private) && r.put(e) {
			b.log.WithField("reader", r.name).
				Warn("event reader is too slow, events are dropped until it has caught up")
		}
	}
}

// gets reports whether a reader gets events of a tag, which may be private.
func (r *reader) gets(tag string, private bool) bool {
	return (!private || r.private) && (r.wants == nil || r.wants(tag))
}

func (b *Bus) add(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers = append(b.readers, r)
}

func (b *Bus) remove(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.readers, r); i >= 0 {
		b.readers = slices.Delete(b.readers, i, i+1)
	}
}

// closeReaders closes all readers. They still return queued events.
func (b *Bus) closeReaders() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.readers {
		r.close()
	}
}

// DroppedTag is the tag of an event about dropped events. It goes to one reader only, which was too slow: its
// queue had no room for them. The reader gets it before the first event that was fired after a drop. Its
// field `dropped` is the number of events dropped since the last such event.
const DroppedTag = "salt/event/dropped"

// noticeOfGap returns the event with DroppedTag about n events.
func (b *Bus) noticeOfGap(n uint64) Event {
	e, err := b.encoder.encode(DroppedTag, data.NewMap("dropped", int64(n)))
	if err != nil {
		b.log.WithError(err).Errorf("encode the event about %d dropped events", n)
	}
	return e
}

// logCaughtUp logs that a reader that had dropped events has emptied its queue.
func (b *Bus) logCaughtUp(r *reader) {
	if n := r.caughtUp(); n > 0 {
		b.log.WithFields(logrus.Fields{"reader": r.name,
			"dropped": n}).Warn("event reader has caught up")
	}
}

// SubscribeOptions select the events of a reader and limit its queue.
type SubscribeOptions struct {
	Name     string   // name in log lines
	Prefixes []string // only tags with one of these prefixes; none means all
	// only tags accepted by Match; nil means all. It is called for every event and must be fast
	Match     func(tag string) bool
	MaxEvents int // queue limit; 0 means 16384
	// queue limit in bytes; 0 means 16 MiB. One event always fits, however large
	MaxBytes int
	Private  bool // include events selected by Options.Private; a Client never receives them
	// Gaps includes events with DroppedTag, whatever Prefixes are. A Client without Prefixes always gets
	// them, as every program on the socket does.
	Gaps bool
}

// wants returns the filter for tags, or nil if all are wanted.
func (o *SubscribeOptions) wants() func(tag string) bool {
	prefixes, match := slices.Clone(o.Prefixes), o.Match
	if len(prefixes) == 0 {
		return match
	}
	gaps := o.Gaps
	return func(tag string) bool {
		if gaps && tag == DroppedTag {
			return true
		}
		has := func(p string) bool { return strings.HasPrefix(tag, p) }
		return slices.ContainsFunc(prefixes, has) && (match == nil || match(tag))
	}
}

// A Subscription is a reader inside the process. It is safe for concurrent use; each event is
// returned once.
type Subscription struct {
	bus    *Bus
	reader *reader
}

// Subscribe adds a reader of the events fired from now on that match o. The caller must close it.
func (b *Bus) Subscribe(o SubscribeOptions) *Subscription {
	r := &reader{queue: newQueue(o.MaxEvents, o.MaxBytes), name: o.Name, wants: o.wants(),
		private: o.Private}
	if o.Gaps {
		r.notice = b.noticeOfGap
	}
	b.add(r)
	return &Subscription{bus: b, reader: r}
}

// Next waits for the next event. The error is that of ctx, or ErrClosed.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	e, err := s.reader.next(ctx)
	if err == nil {
		s.bus.logCaughtUp(s.reader)
	}
	return e, err
}

// NextFew is Next for the events that wait already: it appends at least one and as many as fit into
// size bytes and the capacity of dst.
func (s *Subscription) NextFew(ctx context.Context, dst []Event, size int) ([]Event, error) {
	dst, err := s.reader.take(ctx, dst, size)
	if err == nil {
		s.bus.logCaughtUp(s.reader)
	}
	return dst, err
}

// All yields events until ctx ends or the subscription is closed.
func (s *Subscription) All(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, err := s.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// Dropped returns the number of events dropped because the queue was full.
func (s *Subscription) Dropped() uint64 { return s.reader.drops() }

// Close ends the subscription. Next still returns queued events.
func (s *Subscription) Close() {
	s.bus.remove(s.reader)
	s.reader.close()
}

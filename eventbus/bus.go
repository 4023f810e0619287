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

// Options tune a Bus. The zero value is Salt's.
type Options struct {
	MaxEventSize int                // option `max_event_size` in bytes; 0 means 1048576
	ZoneStamp    bool               // write `_stamp` with +00:00, as Salt 3008 does
	Now          func() time.Time   // nil means time.Now
	Log          logrus.FieldLogger // nil means silence
	// Private accepts the tags of events that hold secrets: whoever fired them, they go to subscriptions that ask for them
	// and to no socket. nil means that there are none. It is called for every event: keep it short.
	Private func(tag string) bool
}

// A Bus hands every event to every reader. Several goroutines may use it.
type Bus struct {
	encoder encoder
	log     logrus.FieldLogger
	private func(tag string) bool // nil accepts none

	mu      sync.Mutex // held while an event is handed out, so that all readers see the same order
	readers []*reader
	admits  []*listener // listeners whose waiting connections become readers before an event is handed out
	fired   uint64
}

// A reader is a subscription or a connection to the pub socket.
type reader struct {
	*queue
	name  string
	wants func(tag string) bool // nil means all
	inner bool                  // gets private events too
}

// New returns a Bus without readers.
func New(o Options) *Bus {
	b := &Bus{encoder: newEncoder(o.MaxEventSize, o.ZoneStamp, o.Now), log: o.Log, private: o.Private}
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

// Fire sends an event: m with `_stamp` added, trimmed when it is larger than MaxEventSize. m is not changed. The
// error wraps ErrBadEvent for a tag that cannot be one, or says what in m cannot be encoded.
func (b *Bus) Fire(tag string, m *data.Map) error {
	e, err := b.encoder.encode(tag, m)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// FireRaw is Fire with values that are encoded already, in bin form; they are passed on as they are. Values from
// the wire go through payload's Rewrite first.
func (b *Bus) FireRaw(tag string, fields payload.Fields) error {
	e, err := b.encoder.encodeRaw(tag, fields)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// FireMap is FireRaw with the whole map encoded, in bin form and valid.
func (b *Bus) FireMap(tag string, m data.Raw) error {
	e, err := b.encoder.encodeMap(tag, m)
	if err != nil {
		return err
	}
	b.publish(e)
	return nil
}

// Fired returns how many events went over the bus.
func (b *Bus) Fired() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fired
}

func (b *Bus) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fired++
	for _, l := range b.admits {
		l.admit()
	}
	private := b.private != nil && b.private(e.Tag)
	for _, r := range b.readers {
		if private && !r.inner || r.wants != nil && !r.wants(e.Tag) {
			continue
		}
		if r.put(e) {
			b.log.WithField("reader", r.name).Warn("event reader is too slow, events are dropped until it has caught up")
		}
	}
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

// tellCaughtUp logs that a reader which had dropped events has none waiting any more.
func (b *Bus) tellCaughtUp(r *reader) {
	if n := r.caughtUp(); n > 0 {
		b.log.WithFields(logrus.Fields{"reader": r.name, "dropped": n}).Warn("event reader has caught up")
	}
}

// SubscribeOptions choose what a reader gets and how much is kept for it.
type SubscribeOptions struct {
	Name      string                // in the log
	Prefixes  []string              // tags that begin with one of these; none means all
	Match     func(tag string) bool // and that this accepts; nil means all. It is called for every event: keep it short
	MaxEvents int                   // that wait; 0 means 16384
	MaxBytes  int                   // of them together; 0 means 16 MiB. One event is always kept, however large
	Private   bool                  // with those that Options.Private accepts; a Client never gets them
}

// wants returns the filter, or nil when there is none.
func (o *SubscribeOptions) wants() func(tag string) bool {
	prefixes, match := slices.Clone(o.Prefixes), o.Match
	if len(prefixes) == 0 {
		return match
	}
	return func(tag string) bool {
		has := func(p string) bool { return strings.HasPrefix(tag, p) }
		return slices.ContainsFunc(prefixes, has) && (match == nil || match(tag))
	}
}

// A Subscription is one reader in the process. Several goroutines may use it; each event goes to one of them.
type Subscription struct {
	bus    *Bus
	reader *reader
}

// Subscribe adds a reader, which gets every event that is fired from now on and that it asked for. Close it.
func (b *Bus) Subscribe(o SubscribeOptions) *Subscription {
	r := &reader{queue: newQueue(o.MaxEvents, o.MaxBytes), name: o.Name, wants: o.wants(), inner: o.Private}
	b.add(r)
	return &Subscription{bus: b, reader: r}
}

// Next waits for an event. The error is that of ctx, or ErrClosed.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	e, err := s.reader.next(ctx)
	if err == nil {
		s.bus.tellCaughtUp(s.reader)
	}
	return e, err
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

// Dropped returns how many events did not fit.
func (s *Subscription) Dropped() uint64 { return s.reader.drops() }

// Close ends the subscription. Next still returns what is queued.
func (s *Subscription) Close() {
	s.bus.remove(s.reader)
	s.reader.close()
}

package eventbus

import (
	"context"
	"net"
	"sync"

	"github.com/sirupsen/logrus"
)

// ShareOptions configure NewShare.
type ShareOptions struct {
	Prefixes     []string           // only tags with one of these prefixes are read; none means all
	MaxEventSize int                // option `max_event_size` in bytes; 0 means 1048576
	Log          logrus.FieldLogger // nil means no log
}

// A Share is one connection to the bus of a daemon for all readers of this process: each event is
// received and checked once. It is connected while it has a reader, and connects again after the
// daemon has restarted. It is safe for concurrent use.
type Share struct {
	sockets Sockets
	opts    ShareOptions

	mu   sync.Mutex
	line *line // nil while not connected
}

// A line is a connection with its readers.
type line struct {
	conn    net.Conn
	bus     *Bus          // delivers the events to the readers
	readers int           // guarded by the mutex of the Share
	done    chan struct{} // closed when reading has ended
}

// NewShare returns a Share, which is not connected yet.
func NewShare(s Sockets, o ShareOptions) *Share { return &Share{sockets: s, opts: o} }

// Subscribe adds a reader, and connects if this is the first one. Events fired after Subscribe has
// returned are not missed, unless the reader exceeds the limits of o. The caller must close the reader.
func (s *Share) Subscribe(ctx context.Context, o SubscribeOptions) (*SharedReader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == nil {
		if err := s.connect(ctx); err != nil {
			return nil, err
		}
	}
	s.line.readers++
	return &SharedReader{share: s, line: s.line, events: s.line.bus.Subscribe(o)}, nil
}

// connect opens the connection. The caller must hold the lock.
func (s *Share) connect(ctx context.Context) error {
	if err := s.sockets.check(); err != nil {
		return err
	}
	conn, err := dial(ctx, s.sockets.Network, s.sockets.Pub)
	if err != nil {
		return err
	}
	s.line = &line{conn: conn, done: make(chan struct{}),
		bus: New(Options{MaxEventSize: s.opts.MaxEventSize, Log: s.opts.Log})}
	go s.read(s.line)
	return nil
}

// read delivers the events of a connection until it is lost or closed, and then closes its readers.
func (s *Share) read(l *line) {
	defer close(l.done)
	selected := SubscribeOptions{Prefixes: s.opts.Prefixes, Gaps: true}
	_ = readEvents(l.conn, l.bus.encoder.frameLimit(), selected.wants(), func(e Event) bool { // the readers return ErrClosed
		l.bus.publish(e)
		return true
	})
	l.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == l {
		s.line = nil // nobody subscribes to it from now on
	}
	l.bus.closeReaders()
}

// leave removes a reader, and disconnects if it was the last one.
func (s *Share) leave(l *line) {
	s.mu.Lock()
	l.readers--
	last := l.readers == 0
	if last && s.line == l {
		s.line = nil
	}
	s.mu.Unlock()
	if last {
		l.conn.Close()
		<-l.done
	}
}

// A SharedReader is a reader of a Share. It is safe for concurrent use; each event is returned once.
type SharedReader struct {
	share  *Share
	line   *line
	events *Subscription
	once   sync.Once
}

// Next waits for the next event. The error is that of ctx, or wraps ErrClosed if the daemon has gone or
// the reader is closed.
func (r *SharedReader) Next(ctx context.Context) (Event, error) { return r.events.Next(ctx) }

// Dropped returns how many events were dropped, as this reader was too slow.
func (r *SharedReader) Dropped() uint64 { return r.events.Dropped() }

// Close ends the subscription.
func (r *SharedReader) Close() error {
	r.once.Do(func() {
		r.events.Close()
		r.share.leave(r.line)
	})
	return nil
}

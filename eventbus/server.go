package eventbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/payload"
)

// ServeOptions configure Serve. The zero value has Salt's defaults.
type ServeOptions struct {
	// mode of the pub socket's file: 0 means 0600; use 0660 if a group may listen
	PubMode  fs.FileMode
	MaxBytes int // queue limit per connected reader; 0 means 16 MiB
	MaxConns int // maximum number of readers, and of writers; 0 means 1024
	// a reader that accepts nothing for so long is disconnected; 0 means 30 s
	StallLimit time.Duration
	DrainLimit time.Duration // time for readers to drain their queues at the end; 0 means 2 s
	Ready      func()        // called when both sockets are open

	// Patience is how long Serve waits for another process that listens on one of the sockets to
	// end; 0 means not at all. Wait, if not nil, is called once before that, with an error that
	// names the process.
	Patience time.Duration
	Wait     func(why error)

	// Wants returns the filter for the tags that a user of this host may read on the pub socket; a
	// nil filter means all. It is called once per connection, and its result for every event, both
	// under the lock of the bus, so both must be fast. uid is NoUser if the system cannot identify
	// the user. A nil Wants lets everyone who can connect read everything.
	Wants func(uid int) func(tag string) bool
}

// NoUser is the uid of a connection whose user cannot be identified.
const NoUser = -1

// writerGrace is how long writers may finish sending at the end.
const writerGrace = 100 * time.Millisecond

// Limits of a single write to a reader, in bytes and events.
const (
	batchBytes  = 256 << 10
	batchEvents = 64
)

// Serve opens the sockets and serves them until ctx ends. Then it reads what writers have sent,
// gives readers DrainLimit to drain their queues, and returns nil. It fails at once if a path is
// too long or is a file other than a socket. If another process listens there, it fails after
// Patience with an error that names the process. A bus may be served on several sockets.
func (b *Bus) Serve(ctx context.Context, s Sockets, o ServeOptions) error {
	if err := s.check(); err != nil {
		return err
	}
	srv := &server{bus: b, opts: o}
	srv.opts.MaxConns = cmp.Or(o.MaxConns, 1024)
	srv.opts.StallLimit = cmp.Or(o.StallLimit, 30*time.Second)
	srv.opts.DrainLimit = cmp.Or(o.DrainLimit, 2*time.Second)
	open := opening{patience: o.Patience, onWait: o.Wait}
	pub, err := open.listen(ctx, s.Network, s.Pub, cmp.Or(o.PubMode, 0o600))
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer pub.Close()
	pull, err := open.listen(ctx, s.Network, s.Pull, 0o600)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer pull.Close()
	return srv.run(ctx, pub, pull)
}

// ignoreEnd returns err, or nil if ctx has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A server holds the connections of one call of Serve.
type server struct {
	bus  *Bus
	opts ServeOptions

	mu       sync.Mutex // acquired after the lock of the bus, never before
	ending   bool       // accept no more writers
	readers  map[*connReader]struct{}
	writers  map[net.Conn]struct{}
	drainBy  atomic.Int64 // unix nanoseconds; 0 while not ending
	readWait sync.WaitGroup
	pullWait sync.WaitGroup
}

func (s *server) run(ctx context.Context, pub, pull net.Listener) error {
	s.readers, s.writers = map[*connReader]struct{}{}, map[net.Conn]struct{}{}
	waiting := &listener{Listener: pub, server: s}
	waiting.prepare()
	s.bus.addListener(waiting)
	if s.opts.Ready != nil {
		s.opts.Ready()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return waiting.accept(ctx) })
	g.Go(func() error { return s.accept(ctx, pull, s.addWriter) })
	g.Go(func() error {
		<-ctx.Done()
		s.end(pull, waiting)
		return nil
	})
	return g.Wait()
}

// end stops the server without losing events: first new connections, then writers, then readers.
func (s *server) end(pull net.Listener, waiting *listener) {
	pull.Close()
	s.mu.Lock()
	s.ending = true
	for c := range s.writers {
		c.SetReadDeadline(time.Now().Add(writerGrace))
	}
	s.mu.Unlock()
	s.pullWait.Wait()
	s.bus.removeListener(waiting)
	waiting.close()
	by := time.Now().Add(s.opts.DrainLimit)
	s.mu.Lock()
	s.drainBy.Store(by.UnixNano())
	readers := slices.Collect(maps.Keys(s.readers))
	s.mu.Unlock()
	for _, r := range readers {
		s.bus.remove(r.reader)
		r.reader.close()
		r.conn.SetWriteDeadline(by)
	}
	s.readWait.Wait()
}

// accept calls add with each connection until the listener is closed. After other errors it pauses
// and retries.
func (s *server) accept(ctx context.Context, l net.Listener, add func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			add(conn)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			s.bus.log.WithError(err).Warn("accept connection to the event socket")
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// A connReader is a connection to the pub socket.
type connReader struct {
	reader *reader
	conn   net.Conn
}

func (s *server) addReader(conn net.Conn) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.addReaderLocked(conn)
}

// addReaderLocked turns a connection into a reader. The caller must hold the lock of the bus.
func (s *server) addReaderLocked(conn net.Conn) {
	r := &connReader{&reader{queue: newQueue(1<<20, s.opts.MaxBytes),
		name: "pub socket", wants: s.wants(conn)}, conn}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.readers) >= s.opts.MaxConns || s.drainBy.Load() > 0 {
		conn.Close()
		s.bus.log.Warnf("event socket refused a reader: %d are connected", len(s.readers))
		return
	}
	r.reader.direct, r.reader.notice = directWriter(conn), s.bus.noticeOfGap
	s.readers[r] = struct{}{}
	s.bus.readers = append(s.bus.readers, r.reader)
	s.readWait.Add(2)
	go s.watch(r)
	go s.write(r)
}

// wants returns the filter of a connection, or nil if there is none.
func (s *server) wants(conn net.Conn) func(tag string) bool {
	if s.opts.Wants == nil {
		return nil
	}
	uid, ok := peerOf(conn)
	if !ok {
		uid = NoUser
	}
	return s.opts.Wants(uid)
}

// watch waits for the reader to disconnect and discards what it sends.
func (s *server) watch(r *connReader) {
	defer s.readWait.Done()
	io.Copy(io.Discard, r.conn)
	r.reader.discard()
	r.conn.Close()
}

// write sends events to a reader until it disconnects, stalls, or the bus ends.
func (s *server) write(r *connReader) {
	defer s.readWait.Done()
	err := s.send(r)
	s.bus.remove(r.reader)
	r.reader.discard()
	r.conn.Close()
	s.mu.Lock()
	delete(s.readers, r)
	s.mu.Unlock()
	if isTimeout(err) && s.drainBy.Load() == 0 {
		s.bus.log.WithField("dropped", r.reader.drops()).
			Warnf("listener on the event socket disconnected: it read nothing for %v",
				s.opts.StallLimit)
	}
}

func (s *server) send(r *connReader) error {
	events := make([]Event, 0, batchEvents)
	var buffers net.Buffers
	for {
		var err error
		if events, err = r.reader.take(context.Background(), events[:0], batchBytes); err != nil {
			return err
		}
		buffers = buffers[:0]
		for i := range events {
			buffers = append(buffers, events[i].frame)
		}
		if err := s.deadline(r.conn); err != nil {
			return err
		}
		out := buffers
		if _, err := out.WriteTo(r.conn); err != nil {
			return err
		}
		clear(events)
		clear(buffers)
		if err := s.noDeadline(r.conn); err != nil {
			return err
		}
		s.bus.logCaughtUp(r.reader)
	}
}

// noDeadline clears the write deadline, so that direct writes do not fail because of the deadline
// of an earlier write.
func (s *server) noDeadline(conn net.Conn) error {
	if s.drainBy.Load() > 0 {
		return nil
	}
	return conn.SetWriteDeadline(time.Time{})
}

// deadline sets the deadline of the next write.
func (s *server) deadline(conn net.Conn) error {
	by := time.Now().Add(s.opts.StallLimit)
	if end := s.drainBy.Load(); end > 0 {
		by = time.Unix(0, end)
	}
	return conn.SetWriteDeadline(by)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// addWriter serves a connection to the pull socket.
func (s *server) addWriter(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		conn.Close()
		return
	}
	if len(s.writers) >= s.opts.MaxConns {
		conn.Close()
		s.bus.log.Warnf("event socket refused a writer: %d are connected", len(s.writers))
		return
	}
	s.writers[conn] = struct{}{}
	s.pullWait.Go(func() {
		err := s.pull(conn)
		conn.Close()
		s.mu.Lock()
		delete(s.writers, conn)
		s.mu.Unlock()
		if err != nil {
			s.bus.log.WithError(err).Warn("writer on the event socket disconnected: it sent an invalid event")
		}
	})
}

// pull fires the events that a writer sends. An invalid frame ends the connection; a frame with an
// invalid event is dropped.
func (s *server) pull(conn net.Conn) error {
	frames := payload.NewFrameReader(conn, s.bus.encoder.frameLimit())
	for told := false; ; {
		body, err := frames.Next()
		if err != nil {
			if errors.Is(err, payload.ErrFrame) {
				return fmt.Errorf("read event frame: %w", err)
			}
			return nil
		}
		e, err := ParseEvent(body)
		if err == nil {
			err = CheckTag(e.Tag)
		}
		if err == nil {
			s.bus.publish(framed(e.Tag, body, len(e.Data)))
			continue
		}
		if !told {
			told = true
			s.bus.log.WithError(err).Warn("invalid event on the event socket dropped")
		}
	}
}

package stream

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// SSEOptions configure ServeSSE.
type SSEOptions struct {
	Life
}

// ServeSSE answers a request with the events of l as an event stream, in the form of Salt's /events
// (salt/netapi/rest_cherrypy/app.py, Events): "retry: 400", then for each event the lines tag and
// data. An id line before the tag and comments as heartbeats are added. In the tag line, control
// characters are spaces.
//
// It returns when the stream has ended: nil if the client has left, else ErrExpired, ErrClosed, an
// error that wraps ErrSlow or another write error. It fails before it has written anything if w has no
// Flush or no write deadlines. A HEAD request gets only headers.
func ServeSSE(w http.ResponseWriter, r *http.Request, l *Listener, o SSEOptions) error {
	s := &sseSink{w: w, control: http.NewResponseController(w), listener: l,
		timeout: o.Life.withDefaults().WriteTimeout}
	if err := s.open(r.Method == http.MethodHead); err != nil || r.Method == http.MethodHead {
		return s.ended(r, err)
	}
	return s.ended(r, l.feed(o.Life.withDefaults(), s, nil, r.Context().Done()))
}

// An sseSink writes an event stream.
type sseSink struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration
	listener *Listener

	sent  uint64  // position of the last id that was sent
	batch *[]byte // events to be written together; nil if there are none
	dirty bool    // something is not flushed yet
}

// open writes the headers and, unless head is set, the first line.
func (s *sseSink) open(head bool) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return fmt.Errorf("begin event stream: set write deadline: %w", err)
	}
	if !canFlush(s.w) {
		return fmt.Errorf("begin event stream: flush: %w", http.ErrNotSupported)
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream;charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no") // nginx passes each flush on
	s.w.WriteHeader(http.StatusOK)
	if head {
		return nil
	}
	if err := s.write([]byte("retry: 400\n")); err != nil {
		return err
	}
	return s.rest()
}

// canFlush reports whether w, or a writer that it wraps, can flush.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch x := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = x.Unwrap()
		default:
			return false
		}
	}
}

// fullBatch is the largest batch in bytes.
const fullBatch = 32 << 10

// send adds an event to the batch, so that a stream that lags needs few system calls. All streams share
// the bytes of a large event.
func (s *sseSink) send(i Item) error {
	s.sent = i.e.id
	m := i.e.message()
	if s.batch != nil && len(*s.batch)+len(m) > fullBatch {
		if err := s.writeBatch(); err != nil {
			return err
		}
	}
	if len(m) > fullBatch {
		return s.write(m)
	}
	if s.batch == nil {
		s.batch = s.listener.hub.takeBatch()
	}
	*s.batch = append(*s.batch, m...)
	return nil
}

func (s *sseSink) writeBatch() error {
	if s.batch == nil {
		return nil
	}
	b := s.batch
	s.batch = nil
	defer s.listener.hub.giveBatch(b)
	return s.write(*b)
}

func (s *sseSink) write(b []byte) error {
	s.dirty = true
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return fmt.Errorf("write event stream: set deadline: %w", err)
	}
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("write event stream: %w", slow(err))
	}
	return nil
}

func (s *sseSink) rest() error {
	if err := s.writeBatch(); err != nil {
		return err
	}
	if !s.dirty {
		return nil
	}
	s.dirty = false
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event stream: %w", slow(err))
	}
	return nil
}

// beat writes a comment. It comes with the position if the filter has left out events since the last
// id, so that the client resumes behind them.
func (s *sseSink) beat() error {
	var b []byte
	if n := s.listener.pos - 1; n > s.sent {
		s.sent = n
		b = append(appendPosition(append(b, "id: "...), s.listener.hub.run, n), '\n')
	}
	if err := s.write(append(b, ":\n\n"...)); err != nil {
		return err
	}
	return s.rest()
}

// ended flushes the rest and returns the error for ServeSSE's caller.
func (s *sseSink) ended(r *http.Request, err error) error {
	if errors.Is(err, ErrSlow) {
		return err
	}
	if r.Context().Err() != nil || errors.Is(err, errGone) {
		return nil
	}
	if err == nil || errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed) {
		// the connection can serve other requests, which must not meet the deadline
		err = errors.Join(err, s.rest(), s.control.SetWriteDeadline(time.Time{}))
	}
	return err
}

// slow marks the error of a write that took too long.
func slow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return err
}

package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

const (
	// readyText is the client's text that starts the events.
	readyText = "websocket client ready"
	// receivedText answers each text of the client.
	receivedText = "server received message"
	// maxClientText is the maximum size of a client's message in bytes.
	maxClientText = 4 << 10
)

// WebSocketOptions configure ServeWebSocket.
type WebSocketOptions struct {
	Life

	// OriginChecked says that the caller has checked whose page opens the websocket. Otherwise only pages of
	// the server's own host may, and clients that send no origin.
	OriginChecked bool
	// sends the state of jobs and minions in place of events (the query key format_events, and
	// /formatted_events of rest_tornado)
	FormatEvents bool
	// speaks like rest_tornado: events are JSON without "data: ", and texts of the client are not answered
	Tornado bool

	StateBytes int // with FormatEvents: size of the jobs, and of the minions, kept; 0 means 1 MiB

	// with FormatEvents: called when minions have connected whose grains are unknown, for the caller to
	// run grains.items on them, as Salt does with the client's token; the result comes as an event. It
	// must not block; may be nil
	Joined func(minions []string)
	// called when the client is ready; must not block; may be nil
	Ready func()
}

// ServeWebSocket answers a request for a websocket with the events of l, with the protocol of Salt's
// /ws (salt/netapi/rest_cherrypy/app.py, WebsocketEndpoint, and tools/websockets.py): the client sends
// "websocket client ready", and the events from then on (with Filter.After: those after that position)
// follow as one text each. A client that answers no ping within the write timeout is disconnected, as
// is one that does not read. A message of more than 4 KiB, or a text that is not UTF-8, ends the
// connection.
//
// It returns when the connection has ended: nil if the client has left, else ErrExpired (close code
// 1008), ErrClosed (1001; also when the context of the request ends for a cause, as that of a server
// which stops), or an error that wraps ErrSlow or another one of the connection. If the request is no
// valid handshake, or its origin is not allowed, it is answered with an error.
func ServeWebSocket(w http.ResponseWriter, r *http.Request, l *Listener, o WebSocketOptions) error {
	k := &keeper{ResponseWriter: w}
	conn, err := websocket.Accept(k, r, &websocket.AcceptOptions{
		InsecureSkipVerify: o.OriginChecked,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return fmt.Errorf("open websocket: %w", err)
	}
	conn.SetReadLimit(maxClientText)
	o.Life = o.Life.withDefaults()
	s := &socket{conn: conn, raw: k.conn, o: o, ready: make(chan struct{}), gone: make(chan struct{}),
		pings: make(chan struct{}, 1)}
	if o.FormatEvents {
		s.state = newState(o.StateBytes, l.hub.states)
		defer s.state.close()
	}
	return s.serve(r.Context(), l)
}

// A socket is a websocket of one client. One goroutine writes events, one reads, and one sends pings.
type socket struct {
	conn  *websocket.Conn
	raw   net.Conn // below conn
	o     WebSocketOptions
	state *state     // nil without FormatEvents
	out   *timedConn // for events

	ready chan struct{} // closed when the client is ready
	pings chan struct{} // receives a value for each ping to send
	gone  chan struct{} // closed when the connection is lost
	once  sync.Once     // closes gone
	err   error         // why the connection was lost; valid once gone is closed
}

// closePatience is how long a client may take to answer the end of a connection.
const closePatience = time.Second

// A keeper is a ResponseWriter that keeps the connection which it gives away.
type keeper struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack gives the connection away.
func (k *keeper) Hijack() (c net.Conn, rw *bufio.ReadWriter, err error) {
	c, rw, err = http.NewResponseController(k.ResponseWriter).Hijack()
	k.conn = c
	return c, rw, err
}

// serve runs the three goroutines until the connection has ended, or stop has.
func (s *socket) serve(stop context.Context, l *Listener) error {
	late := time.AfterFunc(closePatience, func() { s.raw.Close() }) //nolint:errcheck // it ends anyway
	late.Stop()
	defer late.Stop()
	defer context.AfterFunc(stop, func() {
		late.Reset(closePatience)
		if errors.Is(context.Cause(stop), context.Canceled) {
			s.lose(net.ErrClosed) // the client has left before net/http gave the connection away
			return
		}
		s.lose(ErrClosed)
	})()
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { s.lose(s.read()) })
	parts.Go(func() { s.lose(s.ping(ctx)) })
	s.out = s.timed()
	err := l.feed(s.o.Life, s, s.ready, s.gone)
	if errors.Is(err, errGone) && errors.Is(s.err, ErrClosed) {
		err = ErrClosed
	}
	late.Reset(closePatience)
	switch {
	case errors.Is(err, ErrExpired):
		s.conn.Close(websocket.StatusPolicyViolation, "token has expired") //nolint:errcheck // it ends anyway
	case errors.Is(err, ErrClosed):
		s.conn.Close(websocket.StatusGoingAway, "server stops") //nolint:errcheck // it ends anyway
	}
	cancel()
	s.conn.CloseNow() //nolint:errcheck // it may be closed already
	parts.Wait()
	if !errors.Is(err, errGone) {
		return err
	}
	if hasLeft(s.err) {
		return nil
	}
	return s.err
}

// lose records why the connection is lost. Only the first reason counts.
func (s *socket) lose(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.gone)
	})
}

// hasLeft reports whether a connection was lost because the client ended it.
func hasLeft(err error) bool {
	if errors.Is(err, ErrSlow) || errors.Is(err, websocket.ErrMessageTooBig) {
		return false
	}
	return websocket.CloseStatus(err) != -1 || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET)
}

// read reads and answers messages until the connection is lost.
func (s *socket) read() error {
	out := s.timed()
	ready := false
	for {
		kind, b, err := s.conn.Read(context.Background())
		if errors.Is(err, context.DeadlineExceeded) { // the answer to a ping of the client
			return fmt.Errorf("read websocket: %w: %w", ErrSlow, err)
		}
		if err != nil {
			return fmt.Errorf("read websocket: %w", err)
		}
		if kind == websocket.MessageText && !utf8.Valid(b) {
			err := errors.New("text is not UTF-8")
			s.conn.Close(websocket.StatusInvalidFramePayloadData, err.Error()) //nolint:errcheck // it ends anyway
			return fmt.Errorf("read websocket: %w", err)
		}
		if !s.o.Tornado {
			if err := out.write([]byte(receivedText)); err != nil {
				return err
			}
		}
		if string(b) == readyText && !ready {
			ready = true
			s.start()
		}
	}
}

func (s *socket) start() {
	if s.o.Ready != nil {
		s.o.Ready()
	}
	close(s.ready)
}

// ping sends a ping for each value in pings and waits for the answer.
func (s *socket) ping(ctx context.Context) error {
	for {
		select {
		case <-s.pings:
		case <-ctx.Done():
			return ctx.Err()
		}
		limited, cancel := context.WithTimeout(ctx, s.o.WriteTimeout)
		err := s.conn.Ping(limited)
		late := errors.Is(limited.Err(), context.DeadlineExceeded)
		cancel()
		if err != nil && late {
			return fmt.Errorf("no answer to a ping: %w", ErrSlow)
		}
		// any other error: the connection is lost, which read reports, or a long message is being
		// written, which has its own limit
	}
}

func (s *socket) send(i Item) error {
	switch {
	case s.state != nil:
		return s.sendState(i)
	case s.o.Tornado:
		return s.write(i.JSON())
	}
	return s.write(i.text())
}

// sendState sends what an event has changed in the state.
func (s *socket) sendState(i Item) error {
	texts, joined := s.state.process(i)
	if len(joined) > 0 && s.o.Joined != nil {
		s.o.Joined(joined)
	}
	for _, t := range texts {
		if err := s.write(t); err != nil {
			return err
		}
	}
	return nil
}

func (s *socket) write(b []byte) error {
	if err := s.out.write(b); err != nil {
		s.lose(err)
		return errGone
	}
	return nil
}

func (s *socket) rest() error { return nil }

func (s *socket) beat() error {
	select {
	case s.pings <- struct{}{}:
	default: // one is on its way
	}
	return nil
}

// A timedConn writes messages of one goroutine and closes the connection if a write takes too long.
type timedConn struct {
	conn    *websocket.Conn
	timeout time.Duration
	timer   *time.Timer
}

func (s *socket) timed() *timedConn {
	t := time.AfterFunc(s.o.WriteTimeout, func() {
		s.lose(fmt.Errorf("write websocket: %w", ErrSlow))
		s.conn.CloseNow() //nolint:errcheck // it is given up
	})
	t.Stop()
	return &timedConn{s.conn, s.o.WriteTimeout, t}
}

func (t *timedConn) write(b []byte) error {
	t.timer.Reset(t.timeout)
	defer t.timer.Stop()
	if err := t.conn.Write(context.Background(), websocket.MessageText, b); err != nil {
		return fmt.Errorf("write websocket: %w", err)
	}
	return nil
}

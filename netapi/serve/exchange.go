package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/brineproject/brine/netapi"
)

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	e := &exchange{ResponseWriter: w, server: s, control: http.NewResponseController(w), request: r, began: time.Now(),
		cancel: cancel}
	s.open.add(e)
	defer s.open.remove(e)
	own := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		e.body = &body{ReadCloser: r.Body, exchange: e, from: netapi.Network(netapi.AddressOf(r.RemoteAddr))}
		defer e.body.release()
		own.Body = e.body
	}
	if r.ProtoMajor == 1 {
		_ = e.control.SetWriteDeadline(time.Time{}) // that of the last request on this connection
	}
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	defer e.end()
	s.Handler.ServeHTTP(e, own)
}

// An exchange is a request while it is answered. It keeps time: each writing gets a deadline of its
// own, so that a stream may last, and one who reads nothing is disconnected. A handler that sets
// deadlines itself keeps them.
type exchange struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController
	request *http.Request
	began   time.Time
	cancel  context.CancelCauseFunc
	body    *body // nil without one

	status   int // 0 until the header is written
	written  int64
	hijacked bool
	ownWrite bool // the handler sets the deadlines of writing
	ownRead  bool
}

// Unwrap returns the writer of net/http, for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// WriteHeader sends the header.
func (e *exchange) WriteHeader(status int) {
	if status >= 200 && e.status == 0 || status == http.StatusSwitchingProtocols {
		e.status = status
		e.finishBody()
		if kind, _, err := mime.ParseMediaType(e.Header().Get("Content-Type")); err == nil && kind == "text/event-stream" {
			e.server.open.becomeStream(e)
		}
	}
	e.timed(func() { e.ResponseWriter.WriteHeader(status) })
}

// Write sends a part of the body.
func (e *exchange) Write(p []byte) (n int, err error) {
	if e.status == 0 {
		e.WriteHeader(http.StatusOK)
	}
	e.timed(func() { n, err = e.ResponseWriter.Write(p) })
	e.written += int64(n)
	return n, err
}

// Flush sends what has been written.
func (e *exchange) Flush() { _ = e.FlushError() }

// FlushError is Flush with its error.
func (e *exchange) FlushError() (err error) {
	if e.status == 0 {
		e.WriteHeader(http.StatusOK)
	}
	e.timed(func() { err = e.control.Flush() })
	return err
}

// Hijack gives the connection to the handler, as the stream of a websocket.
func (e *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := e.control.Hijack()
	if err == nil {
		e.hijacked = true
		if e.status == 0 {
			e.status = http.StatusSwitchingProtocols
		}
		e.server.open.becomeStream(e)
	}
	return c, rw, err
}

// SetWriteDeadline sets the time limit of writing, which is the handler's from then on.
func (e *exchange) SetWriteDeadline(t time.Time) error {
	e.ownWrite = true
	return e.control.SetWriteDeadline(t)
}

// SetReadDeadline sets the time limit of reading, likewise.
func (e *exchange) SetReadDeadline(t time.Time) error {
	e.ownRead = true
	return e.control.SetReadDeadline(t)
}

// timed does something that writes. HTTP/2 ends a stream whose deadline passes between two writings,
// so that there is none then.
func (e *exchange) timed(write func()) {
	if e.ownWrite || e.hijacked {
		write()
		return
	}
	_ = e.control.SetWriteDeadline(time.Now().Add(e.server.limits.write)) // writing reports what is wrong
	write()
	_ = e.control.SetWriteDeadline(time.Time{})
}

// finishBody reads what the handler has left of a small body, so that nothing of it holds the
// connection up afterwards. A client that waits for 100 Continue sends none.
func (e *exchange) finishBody() {
	if e.body == nil || e.body.over || e.ownRead || e.request.ProtoMajor > 1 || e.request.Header.Get("Expect") != "" {
		return
	}
	e.body.discarded = true
	_, _ = io.CopyN(io.Discard, e.body, 256<<10) // the server closes the connection where more is left
}

// end logs a request and limits what net/http still does for it.
func (e *exchange) end() {
	failure := recover()
	if failure != nil && !isAbort(failure) {
		e.server.panics.Warnf(e.server.Log, e.request.URL.Path, "%s: %s: panic: %v\n%s", e.server.Name,
			clean(masked(e.request.RequestURI)), failure, debug.Stack())
		if e.status == 0 {
			http.Error(e, "An unexpected error occurred", http.StatusInternalServerError)
			failure = nil
		}
	}
	if e.status == 0 && failure == nil {
		e.WriteHeader(http.StatusOK)
	}
	if !e.hijacked {
		_ = e.control.SetWriteDeadline(time.Now().Add(e.server.limits.write))
	}
	if !e.hijacked && e.body != nil && !e.body.over {
		_ = e.control.SetReadDeadline(time.Now().Add(e.server.limits.finish))
	}
	e.server.access.write(line(e.request, e.began, e.status, e.written))
	if failure != nil {
		panic(http.ErrAbortHandler)
	}
}

// isAbort reports whether a handler has given up a request, which is no fault.
func isAbort(failure any) bool {
	err, ok := failure.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// A body is that of a request. It must arrive in time: see the package comment.
type body struct {
	io.ReadCloser
	exchange *exchange
	began    time.Time // of the first reading
	read     int64
	over     bool // all has been read, or nothing more can be

	from      netip.Prefix
	counted   int64 // bytes that count in Bodies
	discarded bool  // what is read from now on is not kept
}

// errSlow is why the reading of a body fails.
var errSlow = errors.New("the request body arrives too slowly")

// count counts bytes until the request ends.
func (b *body) count(n int64) error {
	if b.discarded || n == 0 {
		return nil
	}
	if err := b.exchange.server.Bodies.take(b.from, n); err != nil {
		b.over = true
		return err
	}
	b.counted += n
	return nil
}

func (b *body) release() { b.exchange.server.Bodies.give(b.from, b.counted) }

// Read reads a part. The error of a client that is too slow wraps os.ErrDeadlineExceeded; that of too many
// bodies at a time is a *netapi.Fault.
func (b *body) Read(p []byte) (int, error) {
	e := b.exchange
	if b.began.IsZero() {
		b.began = time.Now()
		if err := b.count(weight(e.request)); err != nil {
			return 0, err
		}
	}
	if !e.ownRead && !b.over {
		most := e.server.limits
		more := time.Duration(b.read/most.rate) * time.Second
		_ = e.control.SetReadDeadline(b.began.Add(most.body + more)) // reading reports what is wrong
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if full := b.count(int64(n)); full != nil {
		return 0, full
	}
	if err == nil {
		return n, nil
	}
	b.over = true
	var late net.Error
	switch {
	case errors.Is(err, io.EOF) && !e.ownRead:
		_ = e.control.SetReadDeadline(time.Time{})
	case errors.As(err, &late) && late.Timeout():
		err = fmt.Errorf("%w: %d bytes in %s: %w", errSlow, b.read, time.Since(b.began).Round(time.Millisecond), err)
	}
	return n, err
}

// exchanges are the requests that are being answered.
type exchanges struct {
	mu       sync.Mutex
	stopping bool
	all      map[*exchange]bool // whether it is a stream
	streams  int
	empty    chan struct{} // closed when all have ended; nil unless somebody waits
}

func (x *exchanges) add(e *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[*exchange]bool{}
	}
	x.all[e] = false
}

func (x *exchanges) remove(e *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all[e] {
		x.streams--
	}
	delete(x.all, e)
	if len(x.all) == 0 && x.empty != nil {
		close(x.empty)
		x.empty = nil
	}
}

// becomeStream notes that a request is a stream from now on. It ends at once if the server stops.
func (x *exchanges) becomeStream(e *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.all[e] {
		x.all[e] = true
		x.streams++
	}
	if x.stopping {
		e.cancel(ErrStopping)
	}
}

// endStreams ends the contexts of all streams.
func (x *exchanges) endStreams() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopping = true
	for e, isStream := range x.all {
		if isStream {
			e.cancel(ErrStopping)
		}
	}
}

func (x *exchanges) streaming() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.streams
}

// wait waits until all requests have ended, or ctx has.
func (x *exchanges) wait(ctx context.Context) {
	x.mu.Lock()
	if len(x.all) == 0 {
		x.mu.Unlock()
		return
	}
	if x.empty == nil {
		x.empty = make(chan struct{})
	}
	empty := x.empty
	x.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

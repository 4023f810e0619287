package stream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A memoryWriter is a response in memory. It keeps time since its creation at each flush.
type memoryWriter struct {
	mu       sync.Mutex
	header   http.Header
	body     strings.Builder
	flushed  []string // what was written between flushes
	times    []time.Duration
	begin    time.Time
	deadline time.Time
	stuck    atomic.Bool // writes block until the deadline
}

func newMemoryWriter() *memoryWriter { return &memoryWriter{header: http.Header{}, begin: time.Now()} }

func (m *memoryWriter) Header() http.Header { return m.header }

func (m *memoryWriter) WriteHeader(int) {}

func (m *memoryWriter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stuck.Load() {
		time.Sleep(time.Until(m.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return m.body.Write(b)
}

func (m *memoryWriter) FlushError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushed = append(m.flushed, m.body.String())
	m.times = append(m.times, time.Since(m.begin))
	m.body.Reset()
	return nil
}

func (m *memoryWriter) SetWriteDeadline(t time.Time) error {
	m.deadline = t
	return nil
}

// all returns everything that was flushed.
func (m *memoryWriter) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.flushed, "")
}

func getEvents() *http.Request { return httptest.NewRequest(http.MethodGet, "/events", nil) }

// closedHub returns a hub whose listeners end after the last event.
func closedHub() *Hub {
	hub := New(Options{})
	close(hub.done)
	return hub
}

// withoutIDs removes the id lines of a stream.
func withoutIDs(hub *Hub, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "id: "+hub.run+"-") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestSSEIsSalts(t *testing.T) {
	for _, want := range loadSalt(t).Events {
		hub := closedHub()
		l := listen(t, hub, Filter{})
		for line := range strings.SplitSeq(want, "\n") {
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				fireJSON(t, hub, text)
			}
		}
		w := newMemoryWriter()
		err := ServeSSE(w, getEvents(), l, SSEOptions{})
		if !errors.Is(err, ErrClosed) {
			t.Errorf("ServeSSE = %v", err)
		}
		equal(t, "stream", withoutIDs(hub, w.all()), want)
		equal(t, "content type", w.header.Get("Content-Type"), "text/event-stream;charset=utf-8")
		equal(t, "cache control", w.header.Get("Cache-Control"), "no-cache")
		if n := strings.Count(w.all(), "\ntag: "); strings.Count(w.all(), "id: ") != n {
			t.Errorf("not each of %d events has an id", n)
		}
	}
}

func TestSSEFlushesOncePerBatch(t *testing.T) {
	hub := closedHub()
	l := listen(t, hub, Filter{})
	for range 100 {
		fire(t, hub, "tag")
	}
	w := newMemoryWriter()
	ServeSSE(w, getEvents(), l, SSEOptions{}) //nolint:errcheck // tested elsewhere
	if len(w.flushed) != 2 || w.flushed[0] != "retry: 400\n" || strings.Count(w.flushed[1], "tag: tag\n") != 100 {
		t.Errorf("flushed %q", w.flushed)
	}
}

func TestSSETagsWithLineFeeds(t *testing.T) {
	hub := closedHub()
	l := listen(t, hub, Filter{})
	tags := []string{"a\nid: forged", "b\r\ndata: {}\r\rc", "d\u2028data: x\u0085y", "\x00e\x0b\x7f", "\n"}
	for _, tag := range tags {
		fire(t, hub, tag, "k", "x\ny")
	}
	w := newMemoryWriter()
	ServeSSE(w, getEvents(), l, SSEOptions{}) //nolint:errcheck // tested elsewhere
	got := parseStream(w.all())
	shown := []string{"a id: forged", "b  data: {}  c", "d data: x y", " e  ", " "}
	if len(got) != len(tags) {
		t.Fatalf("%d events in %q", len(got), w.all())
	}
	for i, m := range got {
		equal(t, "id", m.id, fmt.Sprintf("%s-%d", hub.run, i+1))
		equal(t, "tag line", m.tag, shown[i])
		equal(t, "tag in the data", tagIn(t, m.data), tags[i])
	}
}

func TestSSEHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := New(Options{})
		l := listen(t, hub, Filter{Tag: "salt/"})
		w := newMemoryWriter()
		time.AfterFunc(20*time.Second, func() { fire(t, hub, "salt/x") })
		time.AfterFunc(50*time.Second, func() { fire(t, hub, "other") })
		err := ServeSSE(w, getEvents(), l,
			SSEOptions{Life{Until: time.Now().Add(62 * time.Second)}})
		if !errors.Is(err, ErrExpired) {
			t.Errorf("ServeSSE = %v", err)
		}
		equalTags(t, w.flushed, "retry: 400\n", ":\n\n",
			"id: "+hub.run+"-1\ntag: salt/x\ndata: {\"data\": {}, \"tag\": \"salt/x\"}\n\n", ":\n\n", ":\n\n",
			"id: "+hub.run+"-2\n:\n\n")
		equal(t, "times", fmt.Sprint(w.times), "[0s 15s 20s 30s 45s 1m0s]")
	})
}

func TestExpiryEndsASilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := listen(t, New(Options{}), Filter{})
		err := ServeSSE(newMemoryWriter(), getEvents(), l,
			SSEOptions{Life{Until: begin.Add(4321 * time.Millisecond)}})
		if took := time.Since(begin); !errors.Is(err, ErrExpired) || took != 4321*time.Millisecond {
			t.Errorf("ended after %v: %v", took, err)
		}
	})
}

func TestInvalidTokenEndsAtTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := listen(t, New(Options{}), Filter{})
		err := ServeSSE(newMemoryWriter(), getEvents(), l,
			SSEOptions{Life{Valid: func() bool { return time.Since(begin) < 16*time.Second }}})
		if took := time.Since(begin); !errors.Is(err, ErrExpired) || took != 30*time.Second {
			t.Errorf("ended after %v: %v", took, err)
		}
	})
}

func TestNoEventPassesAfterExpiry(t *testing.T) {
	for name, life := range map[string]Life{
		"token deleted": {Valid: func() bool { return false }},
		"time over":     {Until: time.Now()},
	} {
		t.Run(name, func(t *testing.T) {
			hub := New(Options{})
			l := listen(t, hub, Filter{})
			fire(t, hub, "secret")
			w := newMemoryWriter()
			err := ServeSSE(w, getEvents(), l, SSEOptions{life})
			if !errors.Is(err, ErrExpired) {
				t.Errorf("ServeSSE = %v", err)
			}
			equal(t, "stream", w.all(), "retry: 400\n")
		})
	}
}

func TestSSESlowWriterIsCutAtTheWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := New(Options{})
		l := listen(t, hub, Filter{})
		w := newMemoryWriter()
		time.AfterFunc(time.Minute, func() {
			w.stuck.Store(true)
			fire(t, hub, "large")
		})
		err := ServeSSE(w, getEvents(), l, SSEOptions{})
		if took := time.Since(w.begin); !errors.Is(err, ErrSlow) || took != 70*time.Second {
			t.Errorf("ended after %v: %v", took, err)
		}
	})
}

// bare hides all methods but those of a ResponseWriter.
type bare struct{ http.ResponseWriter }

// noDeadline can flush but has no deadlines.
type noDeadline struct{ *httptest.ResponseRecorder }

// wrapped is a middleware's writer.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestSSENeedsFlushAndDeadlines(t *testing.T) {
	l := listen(t, closedHub(), Filter{})
	for name, w := range map[string]http.ResponseWriter{
		"neither": bare{httptest.NewRecorder()}, "no deadlines": noDeadline{httptest.NewRecorder()},
		"no flush": noFlush{newMemoryWriter()},
	} {
		t.Run(name, func(t *testing.T) {
			err := ServeSSE(w, getEvents(), l, SSEOptions{})
			if !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("ServeSSE = %v", err)
			}
			if len(w.Header()) > 0 {
				t.Errorf("headers were set: %v", w.Header())
			}
		})
	}
	err := ServeSSE(wrapped{newMemoryWriter()}, getEvents(), l, SSEOptions{})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("ServeSSE with a wrapped writer = %v", err)
	}
}

// noFlush has deadlines but cannot flush.
type noFlush struct{ w *memoryWriter }

func (n noFlush) Header() http.Header                { return n.w.Header() }
func (n noFlush) Write(b []byte) (int, error)        { return n.w.Write(b) }
func (n noFlush) WriteHeader(int)                    {}
func (n noFlush) SetWriteDeadline(t time.Time) error { return n.w.SetWriteDeadline(t) }

// serveSSE starts a server on loopback and returns its address, and a channel with the result of each
// stream.
func serveSSE(t *testing.T, hub *Hub, o SSEOptions) (url string, ended chan error) {
	t.Helper()
	ended = make(chan error, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, err := hub.Listen(Filter{After: r.Header.Get("Last-Event-ID")})
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		defer l.Close()
		ended <- ServeSSE(w, r, l, o)
	}))
	t.Cleanup(s.Close)
	return s.URL, ended
}

// get sends a request for events and reads the first line of the answer.
func get(t *testing.T, url, after string) (*http.Response, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	body := bufio.NewReader(resp.Body)
	if line, err := body.ReadString('\n'); err != nil || line != "retry: 400\n" {
		t.Fatalf("first line %q, %v", line, err)
	}
	return resp, body
}

// readMessage reads one message of a stream.
func readMessage(t *testing.T, body *bufio.Reader) message {
	t.Helper()
	var text string
	for !strings.HasSuffix(text, "\n\n") {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("read stream: %v", err)
		}
		text += line
	}
	return parseStream(text)[0]
}

func TestSSEOverHTTPResumes(t *testing.T) {
	hub := New(Options{MaxEvents: 3})
	url, ended := serveSSE(t, hub, SSEOptions{})
	resp, body := get(t, url, "")
	fire(t, hub, "one")
	first := readMessage(t, body)
	equal(t, "tag", first.tag, "one")
	resp.Body.Close()
	if err := <-ended; err != nil {
		t.Errorf("client left: %v", err)
	}

	fire(t, hub, "two")
	_, body = get(t, url, first.id)
	equal(t, "tag after resuming", readMessage(t, body).tag, "two")

	for range 4 {
		fire(t, hub, "more")
	}
	_, body = get(t, url, first.id)
	notice := readMessage(t, body)
	equal(t, "tag beyond the ring", notice.tag, LostTag)
	if !strings.HasPrefix(notice.data, `{"data": {"lost": 2, "reason": "overrun", "_stamp": "`) {
		t.Errorf("notice %s", notice.data)
	}
	equal(t, "tag after the notice", readMessage(t, body).tag, "more")
}

func TestSSESlowReaderIsCut(t *testing.T) {
	hub := New(Options{MaxBytes: 1 << 30})
	url, ended := serveSSE(t, hub, SSEOptions{Life{WriteTimeout: 50 * time.Millisecond}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("status %q, %v", line, err)
	}
	for range 30 { // more than the buffers of both sockets hold
		fire(t, hub, "large", "text", strings.Repeat("x", 1<<20))
	}
	if err := <-ended; !errors.Is(err, ErrSlow) {
		t.Errorf("ServeSSE = %v", err)
	}
}

func TestSSELeavesNoDeadlineToLaterRequests(t *testing.T) {
	l := listen(t, New(Options{}), Filter{})
	w := newMemoryWriter()
	err := ServeSSE(w, getEvents(), l, SSEOptions{Life{Until: time.Now()}})
	if !errors.Is(err, ErrExpired) || !w.deadline.IsZero() {
		t.Errorf("ServeSSE = %v, and left the write deadline %v", err, w.deadline)
	}
}

func TestSSEHead(t *testing.T) {
	l := listen(t, New(Options{}), Filter{})
	w := newMemoryWriter()
	if err := ServeSSE(w, httptest.NewRequest("HEAD", "/events", nil), l, SSEOptions{}); err != nil {
		t.Errorf("ServeSSE = %v", err)
	}
	equal(t, "body", w.all(), "")
	equal(t, "content type", w.header.Get("Content-Type"), "text/event-stream;charset=utf-8")
}

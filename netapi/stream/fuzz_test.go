package stream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// FuzzSSE checks that a stream parses back to its events, whatever their tags and data.
func FuzzSSE(f *testing.F) {
	f.Add("salt/job/1/new", []byte("\x81\xa1k\xa1v"))
	f.Add("a\ndata: x", []byte("\x81\xa3\x0a\x0a\x0d\xa4\xe2\x80\xa8\x0a"))
	f.Add("a\u2028b\r\n\r\n", []byte("\x81\xc4\x01k\xca\x7f\xc0\x00\x00"))
	f.Add("", []byte("\xc0"))
	f.Fuzz(func(t *testing.T, tag string, raw []byte) {
		tag = strings.ToValidUTF8(tag, "?") // ParseEvent accepts no others
		hub := New(Options{MaxEvents: 2})
		close(hub.done)
		l := listen(t, hub, Filter{})
		for range 2 {
			hub.add(newEntry(hub, eventbus.Event{Tag: tag, Data: raw}))
		}
		w := newMemoryWriter()
		ServeSSE(w, getEvents(), l, SSEOptions{}) //nolint:errcheck // always ErrClosed
		for _, end := range []string{"\u0085", "\u2028", "\u2029", "\v", "\f", "\x1c", "\x1d", "\x1e"} {
			if strings.Contains(w.all(), end) {
				t.Errorf("the stream contains %q", end)
			}
		}
		got := parseStream(w.all())
		if len(got) != 2 {
			t.Fatalf("two events became %d: %q", len(got), w.all())
		}
		for i, m := range got {
			equal(t, "id", m.id, fmt.Sprintf("%s-%d", hub.run, i+1))
			equal(t, "tag", tagIn(t, m.data), tag)
		}
	})
}

// FuzzPosition checks that the parser accepts only what appendPosition writes.
func FuzzPosition(f *testing.F) {
	for _, text := range []string{"", "1a2b-7", "1a-07", "-", "ffffffffffffffff-18446744073709551615"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if run, n, ok := parsePosition(text); ok {
			equal(t, "position", string(appendPosition(nil, run, n)), text)
		}
		hub := New(Options{MaxEvents: 2})
		for range 3 {
			fire(t, hub, "t")
		}
		l := listen(t, hub, Filter{After: text})
		if n := len(pending(t, l)); n > 3 {
			t.Errorf("%d events after %q", n, text)
		}
	})
}

// A pipeWriter is a response whose connection is one end of a pipe.
type pipeWriter struct {
	*httptest.ResponseRecorder
	conn net.Conn
}

func (p pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return p.conn, bufio.NewReadWriter(bufio.NewReader(p.conn), bufio.NewWriter(p.conn)), nil
}

// FuzzWebSocketClient checks that the server survives whatever a client sends, and ends when the client
// has gone.
func FuzzWebSocketClient(f *testing.F) {
	for _, frames := range []string{"", readyFrame, readyFrame + readyFrame,
		"\x89\x80\x00\x00\x00\x00", "\x88\x82\x00\x00\x00\x00\x03\xe8",
		"\x81\xfe\xff\xff\x00\x00\x00\x00", "\x01\x80\x00\x00\x00\x00" + readyFrame,
		"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x81\x81\x00\x00\x00\x00\xff"} {
		f.Add([]byte(frames), false)
		f.Add([]byte(frames), true)
	}
	f.Fuzz(func(t *testing.T, frames []byte, format bool) {
		hub := New(Options{MaxEvents: 1})
		fire(t, hub, "salt/key", "act", "accept", "id", "m")
		l := listen(t, hub, Filter{After: hub.run + "-0"})
		client, server := net.Pipe()
		r := httptest.NewRequest(http.MethodGet, "/ws", nil)
		for key, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
			"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			r.Header.Set(key, value)
		}
		go io.Copy(io.Discard, client) //nolint:errcheck // ends with the connection
		go func() {
			client.Write(frames) //nolint:errcheck // the server may close first
			client.Close()
		}()
		w := pipeWriter{httptest.NewRecorder(), server}
		ServeWebSocket(w, r, l, WebSocketOptions{FormatEvents: format}) //nolint:errcheck // any
	})
}

// FuzzState checks that the state survives any event, and keeps its limit.
func FuzzState(f *testing.F) {
	f.Add("salt/job/1/new\nsalt/job/1/ret/m", []byte("\x82\xa3jid\xa11\xa7minions\x91\xa1m"))
	f.Add("salt/key\nsalt/key", []byte("\x82\xa3act\xa6accept\xa2id\xa1m"))
	f.Add("salt/presence/present", []byte("\x81\xa7present\x92\xa1m\x01"))
	f.Add("a/job/b/ret/c\na/job/b/ret/d", []byte("\x82\xa6return\xc0\xa3fun\xacgrains.items"))
	f.Fuzz(func(t *testing.T, tags string, raw []byte) {
		hub, s := New(Options{MaxEvents: 1}), newState(2000, newBudget(1<<30))
		for tag := range strings.SplitSeq(tags, "\n") {
			texts, _ := s.process(Item{newEntry(hub, eventbus.Event{Tag: tag, Data: data.Raw(raw)})})
			for _, text := range texts {
				if !bytes.HasPrefix(text, []byte(`{"jobs": {`)) &&
					!bytes.HasPrefix(text, []byte(`{"minions": [`)) {
					t.Errorf("text %q", text)
				}
			}
			for _, shelf := range []shelf{s.jobs, s.minions} {
				if shelf.size > shelf.limit && shelf.entries.Len() > 1 ||
					shelf.entries.Len() != len(shelf.sizes) {
					t.Errorf("%d entries with %d bytes are kept", shelf.entries.Len(), shelf.size)
				}
			}
		}
	})
}

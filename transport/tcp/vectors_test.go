package tcp_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
	"github.com/brineproject/brine/transport/transporttest"
)

const vectorFile = "15-tcp-transport.json"

// A talk is one recorded connection: what the client and the server of Salt 3006.0 sent, frame by
// frame, and which direction came when.
type talk struct {
	c2s, s2c []record
	order    []string
}

// A record is one frame, as bytes and taken apart.
type record struct {
	bytes      []byte
	head, body data.Raw
}

func load(t *testing.T, section string) []talk {
	t.Helper()
	f := vectors.Load(t, vectorFile)
	vectors.Later(t, f, []string{"requests", "publications"}, nil)
	var talks []talk
	for _, c := range f.Section(section) {
		c = c.On(t)
		c.Only("connection", "directions", "order")
		k := talk{c2s: frames(t, c, "c2s"), s2c: frames(t, c, "s2c")}
		for _, piece := range c.List("order") {
			k.order = append(k.order, piece.([]any)[0].(string))
		}
		talks = append(talks, k)
	}
	return talks
}

// frames reads one direction; its bytes are those of its frames.
func frames(t *testing.T, c *vectors.Case, direction string) []record {
	t.Helper()
	side := &vectors.Case{Name: direction, Map: c.Object("directions").Value(direction).(*data.Map)}
	side = side.On(t)
	side.Only("frames", "bytes")
	var records []record
	var all []byte
	for _, f := range side.Sub("frames") {
		f = f.On(t)
		// channel looks into bodies
		f.Only("frame", "head", "body", "enc", "version", "load", "nonce", "plain", "signature")
		frame, err := payload.NewFrameReader(bytes.NewReader(f.Bytes("frame")), 0).NextFrame()
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record{f.Bytes("frame"), frame.Head, frame.Body})
		all = append(all, f.Bytes("frame")...)
	}
	if !bytes.Equal(all, side.Bytes("bytes")) {
		t.Fatalf("%s: the frames are not the bytes", direction)
	}
	return records
}

// wireForm returns a body as the layers above have it.
func wireForm(t *testing.T, body data.Raw) []byte {
	t.Helper()
	b, err := payload.Rewrite(body, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVectorReplier replays Salt's clients and compares what our replier answers with what Salt's
// master did.
func TestVectorReplier(t *testing.T) {
	for _, k := range load(t, "requests") {
		got := make(chan []byte, len(k.c2s))
		n := 0
		s, stop := serveReplies(t, transport.Options{}, func(_ context.Context, r transport.Request) {
			_ = r.Reply(wireForm(t, k.s2c[n].body))
			n++
			got <- r.Body() // the next request is sent after that
		})
		c := dial(t, s.Addr())
		sent, received := 0, 0
		for _, direction := range k.order {
			if direction == "c2s" {
				write(t, c, k.c2s[sent].bytes)
				if body := <-got; !bytes.Equal(body, k.c2s[sent].body) {
					t.Errorf("body %q, want %q", body, k.c2s[sent].body)
				}
				sent++
				continue
			}
			want := k.s2c[received].bytes
			if b := read(t, c, len(want)); !bytes.Equal(b, want) {
				t.Errorf("reply %q\nwant %q", b, want)
			}
			received++
		}
		c.Close()
		stop()
	}
}

// TestVectorRequester makes the requests of Salt's clients and compares the bytes. Salt uses a
// message id again when it is free, ours counts.
func TestVectorRequester(t *testing.T) {
	for _, k := range load(t, "requests") {
		l := listen(t)
		q := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + l.Addr().String()}, nil)
		c := accept(t, l)
		for i, r := range k.c2s {
			reply := make(chan []byte, 1)
			go func() {
				b, err := q.Do(t.Context(), wireForm(t, r.body))
				if err != nil {
					t.Errorf("Do: %v", err)
				}
				reply <- b
			}()
			want := withID(r.bytes, i+1)
			if b := read(t, c, len(want)); !bytes.Equal(b, want) {
				t.Errorf("request %q\nwant %q", b, want)
			}
			write(t, c, withID(k.s2c[i].bytes, i+1))
			if b := <-reply; !bytes.Equal(b, k.s2c[i].body) {
				t.Errorf("reply %q, want %q", b, k.s2c[i].body)
			}
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// withID returns a frame with another message id than 1.
func withID(frame []byte, id int) []byte {
	return bytes.Replace(frame, []byte("\xa3mid\x01"), []byte{0xa3, 'm', 'i', 'd', byte(id)}, 1)
}

// TestVectorSubscriber gives our subscriber what a master of Salt 3006.0 sent, and the same as
// later versions send it.
func TestVectorSubscriber(t *testing.T) {
	for _, k := range load(t, "publications") {
		l := listen(t)
		got := make(chan []byte, 2*len(k.s2c))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		hello := func(context.Context) ([]byte, error) { return wireForm(t, k.c2s[0].body), nil }
		go func() {
			done <- tcp.NewSubscriber(transport.Dialer{Addr: "tcp://" + l.Addr().String(),
				Hello: hello}, nil).Run(ctx, func(topic, body []byte) {
				if topic != nil {
					t.Errorf("topic %q", topic)
				}
				got <- body
			})
		}()
		c := accept(t, l)
		if b := read(t, c, len(k.c2s[0].bytes)); !bytes.Equal(b, k.c2s[0].bytes) {
			t.Errorf("hello %q\nwant %q", b, k.c2s[0].bytes)
		}
		for _, r := range k.s2c {
			write(t, c, r.bytes)
			if b := <-got; !bytes.Equal(b, r.body) {
				t.Errorf("publication %q\nwant %q", b, r.body)
			}
			write(t, c, payload.AppendFrame(nil, wireForm(t, r.body)))
			if b := <-got; !bytes.Equal(b, wireForm(t, r.body)) {
				t.Errorf("publication as bytes %q\nwant %q", b, wireForm(t, r.body))
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestVectorPublisher gives our publisher what a minion of Salt 3006.0 said first.
func TestVectorPublisher(t *testing.T) {
	for _, k := range load(t, "publications") {
		asked := make(chan []byte, 1)
		p, stop := servePublications(t, transport.Options{}, func(hello []byte) (string, error) {
			asked <- hello
			return "tcp1", nil
		})
		c := dial(t, p.Addr())
		write(t, c, k.c2s[0].bytes)
		if hello := <-asked; !bytes.Equal(hello, k.c2s[0].body) {
			t.Errorf("hello %q\nwant %q", hello, k.c2s[0].body)
		}
		eventually(t, func() bool { return len(idsOf(p)) == 1 })
		for _, r := range k.s2c {
			body := wireForm(t, r.body)
			p.Publish(transport.Message{Body: body, IDs: []string{"tcp1"}})
			want := payload.AppendFrame(nil, body)
			if b := read(t, c, len(want)); !bytes.Equal(b, want) {
				t.Errorf("publication %q\nwant %q", b, want)
			}
		}
		c.Close()
		stop()
	}
}

// patience bounds failures only.
const patience = 30 * time.Second

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func dial(t *testing.T, a net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func write(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c net.Conn, n int) []byte {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	if n, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("after %q: %v", b[:n], err)
	}
	return b
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// serveReplies runs a replier until stop is called.
func serveReplies(t *testing.T, o transport.Options, h transport.Handler) (s *tcp.Replier, stop func()) {
	t.Helper()
	s, err := tcp.ListenReply(t.Context(), "tcp://127.0.0.1:0", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, run(t, func(ctx context.Context) error { return s.Serve(ctx, h) })
}

// watched is a publisher with what it tells of its connections.
type watched struct {
	*tcp.Publisher
	*transporttest.Roster
}

// servePublications runs a publisher until stop is called.
func servePublications(
	t *testing.T, o transport.Options, identify func([]byte) (string, error),
) (p *watched, stop func()) {
	t.Helper()
	port, err := tcp.ListenPub(t.Context(), "tcp://127.0.0.1:0", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if identify != nil {
		port.SetIdentify(identify)
	}
	p = &watched{port, transporttest.NewRoster(t, port)}
	return p, run(t, p.Serve)
}

func run(t *testing.T, serve func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// idsOf returns the minions that are connected, each once, sorted.
func idsOf(p *watched) []string {
	var ids []string
	for _, peer := range p.List() {
		if peer.ID != "" && len(peer.Topics) > 0 && peer.Addr != nil {
			ids = append(ids, peer.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

package tcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
)

func echo(_ context.Context, r transport.Request) { _ = r.Reply(r.Body()) }

// shut waits until the other side ends the connection.
func shut(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection was not closed")
	}
}

// TestBombs sends what announces more than it holds, at any depth. Each costs its sender the
// connection at once, while it is still open, and memory hardly.
func TestBombs(t *testing.T) {
	s, stop := serveReplies(t, transport.Options{}, echo)
	defer stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, b := range map[string]string{
		"endless map":              "\xdf\xff\xff\xff\xff",
		"endless list":             "\x82\xa4head\x80\xa4body\xdd\xff\xff\xff\xff",
		"endless text":             "\x82\xa4head\x80\xa4body\xdb\xff\xff\xff\xff",
		"endless bytes":            "\x82\xa4head\xc6\xff\xff\xff\xff",
		"endless extension":        "\x82\xa4head\x80\xa4body\xc9\xff\xff\xff\xff\x01",
		"more than a stranger may": "\x82\xa4head\x80\xa4body\xc6\x00\x20\x00\x00",
		"deep":                     "\x82\xa4head\x80\xa4body" + strings.Repeat("\x91", 1000),
		"deep maps":                "\x82\xa4head" + strings.Repeat("\x81\xa1a", 1000),
		"many lists":               strings.Repeat("\x9f", 1000),
		"no map":                   "\x93\x01\x02\x03",
		"number":                   "\x01",
		"no body":                  "\x81\xa4head\x80",
		"no head":                  "\x81\xa4body\x80",
		"reserved byte":            "\x82\xa4head\x80\xa4body\xc1",
		"key that is no text":      "\x82\x01\x80\xa4body\x80",
	} {
		c := dial(t, s.Addr())
		write(t, c, []byte(b))
		shut(t, c)
		c.Close()
		if t.Failed() {
			t.Fatal(name)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	if got := s.Stats().ProtocolErrors; got != 15 {
		t.Errorf("ProtocolErrors = %d, want 15", got)
	}
}

// pipes is a listener whose connections are made in memory, for tests in virtual time.
type pipes struct{ conns chan net.Conn }

func newPipes() *pipes { return &pipes{make(chan net.Conn)} }

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error {
	select {
	case _, ok := <-p.conns:
		if !ok {
			return nil
		}
	default:
	}
	close(p.conns)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- remote{theirs}
	return ours
}

// remote is a pipe that comes from a host.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// answered reads one reply.
func answered(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := payload.NewFrameReader(c, 0).NextFrame(); err != nil {
		t.Fatal(err)
	}
}

// lasts returns after which time the other side ends the connection, if it does within an hour.
func lasts(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	begun := time.Now()
	if err := c.SetReadDeadline(begun.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, c)
	return time.Since(begun)
}

// TestPatienceWithRequests checks when a replier gives up connections that say nothing, go on
// slowly, or ask no more.
func TestPatienceWithRequests(t *testing.T) {
	hello := payload.AppendFrame(nil, []byte("hello"))
	for _, tt := range []struct {
		name string
		play func(*testing.T, net.Conn)
		want time.Duration
	}{
		{"silence", func(*testing.T, net.Conn) {}, 10 * time.Second},
		{"a byte and silence", func(t *testing.T, c net.Conn) { write(t, c, hello[:1]) }, time.Minute},
		{"a byte now and then", func(t *testing.T, c net.Conn) {
			go func() {
				for _, b := range hello {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					time.Sleep(20 * time.Second)
				}
			}()
		}, time.Minute},
		{"a request and silence", func(t *testing.T, c net.Conn) {
			write(t, c, hello)
			answered(t, c)
		}, 5 * time.Minute},
		{"a request of one who is known, and silence", func(t *testing.T, c net.Conn) {
			known := payload.AppendFrame(nil, []byte("known"))
			write(t, c, known)
			answered(t, c)
		}, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				s := tcp.NewReplier(l, transport.Options{}, nil)
				stop := run(t, func(ctx context.Context) error {
					return s.Serve(ctx, func(ctx context.Context, r transport.Request) {
						if bytes.HasSuffix(r.Body(), []byte("known")) {
							r.Trust()
						}
						echo(ctx, r)
					})
				})
				defer stop()
				c := l.dial()
				defer c.Close()
				tt.play(t, c)
				if got := lasts(t, c); got != tt.want {
					t.Errorf("the connection lasted %s, want %s", got, tt.want)
				}
				c.Close()
				time.Sleep(time.Minute) // until who writes has seen it; passes at once in the bubble
			})
		})
	}
}

// TestPatienceWithSubscribers checks when a publisher gives up connections that do not say who they
// are, or are wrong.
func TestPatienceWithSubscribers(t *testing.T) {
	identify := func(hello []byte) (string, error) {
		body, _ := payload.Bytes(hello)
		switch string(body) {
		case "web1":
			return "web1", nil
		case "wrong":
			return "", errors.New("wrong")
		}
		return "", nil
	}
	for _, tt := range []struct {
		hello    string
		from, to time.Duration
	}{
		{"", 5 * time.Minute, 5 * time.Minute},
		{"other", 5 * time.Minute, 5 * time.Minute},
		{"wrong", time.Second, 2 * time.Second},
		{"web1", time.Hour, time.Hour},
	} {
		t.Run("hello "+tt.hello, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				p := tcp.NewPublisher(l, transport.Options{}, nil)
				p.SetIdentify(identify)
				defer run(t, p.Serve)()
				c := l.dial()
				defer c.Close()
				if tt.hello != "" {
					write(t, c, payload.AppendFrame(nil, []byte(tt.hello)))
				}
				if got := lasts(t, c); got < tt.from || got > tt.to {
					t.Errorf("the connection lasted %s, want %s to %s", got, tt.from, tt.to)
				}
			})
		})
	}
}

// TestHellos checks that a subscriber cannot go on for ever saying what says nothing, nor say much.
func TestHellos(t *testing.T) {
	p, stop := servePublications(t, transport.Options{}, func([]byte) (string, error) { return "", nil })
	defer stop()
	many, long := dial(t, p.Addr()), dial(t, p.Addr())
	write(t, many, bytes.Repeat(payload.AppendFrame(nil, []byte("x")), 20))
	shut(t, many)
	write(t, long, payload.AppendFrame(nil, make([]byte, 20_000))[:100])
	shut(t, long)
	if got := p.Stats(); got.ProtocolErrors != 2 || got.TooLarge != 1 {
		t.Errorf("Stats = %+v, want 2 protocol errors, 1 of them too large", got)
	}
}

// TestDelivery checks who gets what: all gets to all; what is for some gets to those, each
// connection of theirs, once, and to those who have not said who they are.
func TestDelivery(t *testing.T) {
	p, stop := servePublications(t, transport.Options{}, func(hello []byte) (string, error) {
		id, _ := payload.Bytes(hello)
		return string(id), nil
	})
	defer stop()
	conns := map[string]net.Conn{}
	for _, name := range []string{"web1", "web1 again", "db1", "unknown"} {
		c := dial(t, p.Addr())
		id, _, _ := strings.Cut(name, " ")
		if name != "unknown" {
			write(t, c, payload.AppendFrame(nil, []byte(id)))
		}
		conns[name] = c
	}
	eventually(t, func() bool { return p.Peers() == 4 && slices.Equal(idsOf(p), []string{"db1", "web1"}) })
	for i := range 3 { // identified is told shortly before it counts
		p.Publish(transport.Message{Body: []byte{'a' + byte(i)}})
	}
	p.Publish(transport.Message{Body: []byte("w"), IDs: []string{"web1", "web1", "web9"}})
	p.Publish(transport.Message{Body: []byte("d"), IDs: []string{"db1"}})
	p.Publish(transport.Message{Body: []byte("n"), IDs: []string{}})
	p.Publish(transport.Message{Body: []byte("z")})
	for name, want := range map[string]string{"web1": "abcwz", "web1 again": "abcwz",
		"db1": "abcdz", "unknown": "abcwdnz"} {
		r := payload.NewFrameReader(conns[name], 0)
		var got []byte
		for len(got) == 0 || got[len(got)-1] != 'z' {
			body, err := r.Next()
			if err != nil {
				t.Fatalf("%s after %q: %v", name, got, err)
			}
			got = append(got, body...)
		}
		if string(got) != want {
			t.Errorf("%s got %q, want %q", name, got, want)
		}
	}
	for _, peer := range p.List() {
		if peer.Since.IsZero() || (peer.ID == "") != (peer.Topics == nil) {
			t.Errorf("told of %+v", peer)
		}
	}
	conns["web1"].Close()
	eventually(t, func() bool { return p.Peers() == 3 })
	if got := idsOf(p); !slices.Equal(got, []string{"db1", "web1"}) {
		t.Errorf("peers = %q while one of two connections is left", got)
	}
	conns["web1 again"].Close()
	eventually(t, func() bool { return slices.Equal(idsOf(p), []string{"db1"}) })
}

// TestAssembly checks that large messages of all peers together are bounded.
func TestAssembly(t *testing.T) {
	limits := transport.Limits{MaxMessage: 4 << 20, Assembly: 3 << 20}
	s, stop := serveReplies(t, transport.Options{Limits: limits},
		func(ctx context.Context, r transport.Request) {
			r.Trust()
			echo(ctx, r)
		})
	defer stop()
	known := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + s.Addr().String()}, nil)
	defer known.Close()
	if _, err := known.Do(t.Context(), wrap([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	frame := payload.AppendFrame(nil, make([]byte, 3<<20))
	first := dial(t, s.Addr())
	write(t, first, frame[:1<<20])
	eventually(t, func() bool { // the second is refused as soon as the first has taken its part
		second := dial(t, s.Addr())
		_, _ = second.Write(frame[:2<<20]) // the server may be quicker to close
		defer second.Close()
		if err := second.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err := second.Read(make([]byte, 1))
		return !errors.Is(err, os.ErrDeadlineExceeded)
	})
	if s.Stats().TooLarge == 0 {
		t.Error("TooLarge = 0")
	}
	first.Close()
	eventually(t, func() bool { // and what it took is given back
		q := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + s.Addr().String()}, nil)
		defer q.Close()
		reply, err := q.Do(t.Context(), wrap(make([]byte, 1<<20)))
		return err == nil && len(unwrap(reply)) == 1<<20
	})
}

// TestRepliesToOthers checks that a server cannot mix up the requests of a client.
func TestRepliesToOthers(t *testing.T) {
	for name, reply := range map[string]string{
		"no id":       "\x82\xa4head\x80\xa4body\x01",
		"text id":     "\x82\xa4head\x81\xa3mid\xa11\xa4body\x01",
		"no head":     "\x81\xa4body\x01",
		"large id":    "\x82\xa4head\x81\xa3mid\xce\xff\xff\xff\xff\xa4body\x01",
		"negative id": "\x82\xa4head\x81\xa3mid\xff\xa4body\x01",
	} {
		l := listen(t)
		q := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + l.Addr().String()}, nil)
		c := accept(t, l)
		lost := make(chan error, 1)
		go func() {
			_, err := q.Do(context.Background(), wrap([]byte("x")))
			lost <- err
		}()
		read(t, c, 10)
		write(t, c, []byte("\x82\xa4head\x81\xa3mid\x07\xa4body\x01")) // of nobody: dropped
		write(t, c, []byte(reply))
		if err := <-lost; !errors.Is(err, transport.ErrDisconnected) {
			t.Errorf("%s: %v, want ErrDisconnected", name, err)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoMessagePack checks that what cannot be a body is an error and no frame.
func TestNoMessagePack(t *testing.T) {
	s, stop := serveReplies(t, transport.Options{}, func(_ context.Context, r transport.Request) {
		if err := r.Reply([]byte("\xdb\xff\xff\xff\xff")); err == nil {
			t.Error("Reply took what is no MessagePack")
		}
	})
	defer stop()
	q := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + s.Addr().String()}, nil)
	defer q.Close()
	if _, err := q.Do(t.Context(), []byte("\xdb\xff\xff\xff\xff")); err == nil ||
		errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("Do = %v", err)
	}
	if _, err := q.Do(t.Context(), wrap([]byte("x"))); !errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("Do = %v, want ErrDisconnected: no reply can come", err)
	}
}

// TestStrangersShareLittleMemory has 200 peers that have proved nothing send a third of a request
// of 1 MB, and measures what that takes when all have come so far, or wait for room. Then all send
// the rest, and are answered.
func TestStrangersShareLittleMemory(t *testing.T) {
	s, stop := serveReplies(t, transport.Options{},
		func(_ context.Context, r transport.Request) { _ = r.Reply([]byte("\xa2ok")) })
	defer stop()
	const peers, third, most = 200, 333_333, 64 << 20
	request := append([]byte("\x82\xa4head\x81\xa3mid\x01\xa4body\xc6\x00\x0f\x42\x40"),
		make([]byte, 1_000_000)...)
	before := heapNow()
	var sent atomic.Int32
	goOn := make(chan struct{})
	answered := make(chan error, peers)
	for range peers {
		c := dial(t, s.Addr())
		go func() {
			_, err := c.Write(request[:third])
			sent.Add(1)
			<-goOn
			if err == nil {
				_, err = c.Write(request[third:])
			}
			if err == nil {
				_, err = c.Read(make([]byte, 100))
			}
			answered <- err
		}()
	}
	eventually(t, func() bool { return sent.Load() == peers || !s.HasRoom(netip.MustParseAddr("127.0.0.1"), 1<<20) })
	grown := int64(heapNow() - before)
	if t.Logf("%d MiB more", grown>>20); grown > most {
		t.Errorf("%d requests of a million bytes take %d MiB", peers, grown>>20)
	}
	close(goOn)
	for range peers {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	eventually(t, func() bool { return s.HasRoom(netip.MustParseAddr("127.0.0.1"), 8<<20) })
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

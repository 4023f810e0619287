package zeromq

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/transport"
)

// patience is how long a test waits for what must happen; it bounds failures only.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rawFrame is a frame as it is on the wire.
type rawFrame struct {
	flags byte
	body  string
}

// raw is a peer made by hand.
type raw struct {
	t *testing.T
	net.Conn
}

func dialRaw(t *testing.T, a net.Addr) *raw {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t, c}
}

func acceptRaw(t *testing.T, l net.Listener) *raw {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t, c}
}

func hello(minor byte) string {
	b := make([]byte, greetingLen)
	copy(b, "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL")
	b[11] = minor
	return string(b)
}

func readyAs(kind string) string {
	return string(command("READY", appendProperty(nil, "Socket-Type", []byte(kind))))
}

// join makes the raw connection a peer of a server of ours.
func (c *raw) join(minor byte, kind string) *raw {
	c.t.Helper()
	c.write(hello(minor) + readyAs(kind))
	c.read(greetingLen)
	if f := c.frame(); f.flags != flagCommand {
		c.t.Fatalf("handshake ends with %+v", f)
	}
	return c
}

func (c *raw) write(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// try writes what the other side may refuse to take.
func (c *raw) try(s string) { _, _ = io.WriteString(c.Conn, s) }

func (c *raw) read(n int) string {
	c.t.Helper()
	c.deadline()
	b := make([]byte, n)
	if k, err := io.ReadFull(c.Conn, b); err != nil {
		c.t.Fatalf("read %d bytes: got %q, %v", n, b[:k], err)
	}
	return string(b)
}

func (c *raw) deadline() {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *raw) frame() rawFrame {
	c.t.Helper()
	f := rawFrame{flags: c.read(1)[0]}
	n := uint64(0)
	if f.flags&flagLong != 0 {
		n = binary.BigEndian.Uint64([]byte(c.read(8)))
	} else {
		n = uint64(c.read(1)[0])
	}
	f.body = c.read(int(n))
	return f
}

// message reads frames up to the last of a message, without commands.
func (c *raw) message() []string {
	c.t.Helper()
	var m []string
	for {
		f := c.frame()
		if f.flags&flagCommand != 0 {
			continue
		}
		if m = append(m, f.body); f.flags&flagMore == 0 {
			return m
		}
	}
}

// rest reads until the other side closes.
func (c *raw) rest() string {
	c.t.Helper()
	c.deadline()
	b, err := io.ReadAll(c.Conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatal("the connection was not closed")
	}
	return string(b)
}

func frames(parts ...string) string {
	var b []byte
	for i, p := range parts {
		flags := byte(flagMore)
		if i == len(parts)-1 {
			flags = 0
		}
		b = appendFrame(b, flags, []byte(p))
	}
	return string(b)
}

// run starts a server and returns what ends it.
func run(t *testing.T, serve func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	return sync.OnceFunc(func() {
		t.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve = %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Serve does not return")
		}
	})
}

func startReplier(t *testing.T, o transport.Options, h transport.Handler) (*Replier, func()) {
	t.Helper()
	s, err := ListenReply(t.Context(), "tcp://127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	return s, run(t, func(ctx context.Context) error { return s.Serve(ctx, h) })
}

func startPublisher(t *testing.T, o transport.Options) (*Publisher, func()) {
	t.Helper()
	p, err := ListenPub(t.Context(), "tcp://127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	return p, run(t, p.Serve)
}

func echo(_ context.Context, r transport.Request) { _ = r.Reply(r.Body()) }

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// subscriptions counts those that are in effect.
func (p *Publisher) subscriptions() int {
	n := 0
	for _, s := range p.shards.All() {
		s.index.Lock()
		for _, t := range s.subs.topics {
			n += len(t.members)
		}
		s.index.Unlock()
	}
	return n
}

func quick(a net.Addr) transport.Dialer {
	return transport.Dialer{Addr: "tcp://" + a.String(), BackoffMin: time.Millisecond,
		BackoffMax: 10 * time.Millisecond}
}

package tcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
)

// FuzzRequests gives a replier any stream, in pieces of any size. Whatever comes, the requests are
// the same as those of the whole stream up to its first fault, each is answered with its own head,
// and the server ends in order.
func FuzzRequests(f *testing.F) {
	hello := "\x82\xa4head\x81\xa3mid\x01\xa4body\xa5hello"
	f.Add([]byte(hello+hello), uint8(1))
	f.Add([]byte("\x82\xa4body\x81\xa3enc\xa5clear\xa4head\x80"+hello), uint8(3))
	f.Add([]byte(hello+"\xdf\xff\xff\xff\xff"), uint8(7))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		l := newPipes()
		limits := transport.Limits{MaxUntrusted: 1 << 12}
		s := tcp.NewReplier(l, transport.Options{Limits: limits, Workers: 1}, nil)
		var bodies [][]byte
		stop := run(t, func(ctx context.Context) error {
			return s.Serve(ctx, func(_ context.Context, r transport.Request) {
				bodies = append(bodies, r.Body())
				_ = r.Reply([]byte{0xc0})
			})
		})
		c := l.dial()
		heads := make(chan []byte, 1)
		go func() { heads <- replies(c) }()
		for chunk := range chunks(stream, int(piece)+1) {
			if _, err := c.Write(chunk); err != nil {
				break // a fault closes the connection
			}
		}
		stop() // a request that has come whole is answered
		c.Close()
		got := <-heads
		want, wantHeads := expected(stream, limits.MaxUntrusted)
		if len(bodies) > len(want) {
			t.Fatalf("%d requests, want at most %d", len(bodies), len(want))
		}
		for i, b := range bodies {
			if !bytes.Equal(b, want[i]) {
				t.Errorf("request %d: %q, want %q", i, b, want[i])
			}
		}
		if !bytes.HasPrefix(wantHeads, got) {
			t.Errorf("heads of replies %q, want a beginning of %q", got, wantHeads)
		}
	})
}

// chunks yields b in pieces of n bytes.
func chunks(b []byte, n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

// replies returns the heads of all replies, until the end.
func replies(c net.Conn) (heads []byte) {
	r := payload.NewFrameReader(c, 0)
	for {
		f, err := r.NextFrame()
		if err != nil {
			return heads
		}
		heads = append(heads, f.Head...)
	}
}

// expected returns the bodies and heads of the requests in a stream up to its first fault.
func expected(stream []byte, max int) (bodies [][]byte, heads []byte) {
	r := payload.NewFrameReader(bytes.NewReader(stream), max)
	for {
		f, err := r.NextFrame()
		if err != nil || f.Head == nil {
			return bodies, heads
		}
		bodies = append(bodies, f.Body)
		heads = append(heads, f.Head...)
	}
}

// FuzzPublications gives a subscriber any stream; it gets what is bytes or a map, and ends in
// order.
func FuzzPublications(f *testing.F) {
	f.Add([]byte("\x82\xa4head\x80\xa4body\xc4\x01x\x82\xa4head\x80\xa4body\x80"))
	f.Add([]byte("\x82\xa4head\x80\xa4body\x01\x82\xa4head\x80\xa4body\x91\x01"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		server, client := net.Pipe()
		go func() {
			_, _ = server.Write(stream)
			server.Close()
		}()
		var got [][]byte
		err := tcp.ReadPublications(ctx, client, func(body []byte) { got = append(got, body) })
		var want [][]byte
		r := payload.NewFrameReader(bytes.NewReader(stream), 0)
		for {
			frame, err := r.NextFrame()
			if err != nil {
				break
			}
			if body, ok := payload.Bytes(frame.Body); ok {
				want = append(want, body)
			} else if isMap(frame.Body) {
				want = append(want, frame.Body)
			}
		}
		if err == nil || errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the end of the stream: %v", err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d publications, want %d", len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("publication %d: %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func isMap(b data.Raw) bool { return b[0]&0xf0 == 0x80 || b[0] == 0xde || b[0] == 0xdf }

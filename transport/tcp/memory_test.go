//go:build !race

package tcp_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
)

// TestConnectionsAtRestAreSmall measures what connections cost that have been used and on which
// nothing happens: heap and stacks, with the test's ends of them, which have no goroutines.
func TestConnectionsAtRestAreSmall(t *testing.T) {
	const count, most = 400, 10 << 10
	replies, stopReplies := serveReplies(t, transport.Options{}, echo)
	defer stopReplies()
	publisher, err := tcp.ListenPub(t.Context(), "tcp://127.0.0.1:0", transport.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	named := make(chan struct{})
	publisher.SetIdentify(func([]byte) (string, error) {
		named <- struct{}{}
		return "web1.example.com", nil
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- publisher.Serve(ctx) }()
	// about as much as a sign-in, or a minion's proof of its name
	frame := payload.AppendFrame(nil, make([]byte, 1000))
	for _, server := range []struct {
		name string
		join func() net.Conn
	}{
		{"request port", func() net.Conn {
			c := dial(t, replies.Addr())
			write(t, c, frame)
			if _, err := io.ReadFull(c, make([]byte, len(frame))); err != nil {
				t.Fatal(err)
			}
			return c
		}},
		{"publish port", func() net.Conn {
			c := dial(t, publisher.Addr())
			write(t, c, frame)
			<-named
			return c
		}},
	} {
		conns := []net.Conn{server.join()}
		before := settled()
		for range count {
			conns = append(conns, server.join())
		}
		grown := (settled() - before) / count
		if t.Logf("%s: %d bytes for each connection", server.name, grown); grown > most {
			t.Errorf("%s: %d bytes for each connection, want at most %d", server.name, grown, most)
		}
		runtime.KeepAlive(conns)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// settled returns the bytes of heap and stacks in use. What pools keep goes with the second
// collection.
func settled() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

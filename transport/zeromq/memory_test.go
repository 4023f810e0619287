//go:build !race

package zeromq

import (
	"context"
	"runtime"
	"testing"

	"github.com/brineproject/brine/transport"
)

// TestConnectionsAtRestAreSmall measures what connections cost that have been used and on which
// nothing happens: heap and stacks, with the test's ends of them, which have no goroutines.
func TestConnectionsAtRestAreSmall(t *testing.T) {
	const count, most = 400, 6 << 10
	replies, stopReplies := startReplier(t, transport.Options{}, echo)
	defer stopReplies()
	publisher, err := ListenPub(t.Context(), "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- publisher.Serve(ctx) }()
	for _, server := range []struct {
		name string
		join func() *raw
	}{
		{"request port", func() *raw {
			c := dialRaw(t, replies.Addr()).join(1, "REQ")
			c.write(frames("", "ping"))
			c.message()
			return c
		}},
		{"publish port", func() *raw {
			c := dialRaw(t, publisher.Addr()).join(1, "SUB")
			c.write(string(command("SUBSCRIBE", []byte(""))) + string(heartbeat()))
			c.frame()
			return c
		}},
	} {
		server.join()
		before := settled()
		for range count {
			server.join()
		}
		grown := (settled() - before) / count
		if t.Logf("%s: %d bytes for each connection", server.name, grown); grown > most {
			t.Errorf("%s: %d bytes for each connection, want at most %d", server.name, grown, most)
		}
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

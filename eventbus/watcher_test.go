package eventbus

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestWatcherOutlivesTheDaemon watches a bus that is not there yet, that comes, goes, and comes
// again.
func TestWatcherOutlivesTheDaemon(t *testing.T) {
	s := MasterSockets(shortDir(t))
	w := NewWatcher(s, ClientOptions{Subscribe: SubscribeOptions{Prefixes: []string{"my/"}}})
	defer w.Close()
	for _, tag := range []string{"my/first", "my/second"} {
		b := New(Options{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Serve(ctx, s, ServeOptions{}) }()
		got := make(chan Event, 1)
		go func() {
			for { // what was read of the bus before may still come
				e, err := w.Next(t.Context())
				if err != nil {
					t.Errorf("Next: %v", err)
				}
				if err != nil || e.Tag == tag {
					got <- e
					return
				}
			}
		}()
		fireUntil(t, b, tag, got)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for {
		e, err := w.Next(ctx)
		if err != nil {
			break
		}
		if e.Tag != "my/second" { // which was read of the bus before
			t.Fatalf("a context that is done does not end the wait for %s", e.Tag)
		}
	}
}

// fireUntil fires an event whenever somebody else listens, until it has been read.
func fireUntil(t *testing.T, b *Bus, tag string, got <-chan Event) {
	t.Helper()
	for {
		if err := b.Fire(tag, data.NewMap()); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-got:
			if e.Tag != tag {
				t.Errorf("read %s, want %s", e.Tag, tag)
			}
			return
		default:
		}
	}
}

func TestNodeSockets(t *testing.T) {
	opts := data.NewMap("sock_dir", "/run/salt", "id", "web1", "hash_type", "sha256")
	minion, err := MinionSockets("/run/salt", "web1", "sha256")
	if err != nil {
		t.Fatal(err)
	}
	tcp := opts.Clone()
	tcp.Update(data.NewMap("ipc_mode", "tcp", "tcp_master_pub_port", int64(4512),
		"tcp_master_pull_port", int64(4513)))
	for _, tt := range []struct {
		node, dir string
		opts      *data.Map
		want      Sockets
	}{
		{"master", "", opts, MasterSockets("/run/salt")},
		{"master", "/other", opts, MasterSockets("/other")},
		{"minion", "", opts, minion},
		{"master", "", tcp, TCPSockets(4512, 4513)},
	} {
		if got, err := NodeSockets(tt.node, tt.opts, tt.dir); err != nil || got != tt.want {
			t.Errorf("%s in %q: %v, %v, want %v", tt.node, tt.dir, got, err, tt.want)
		}
	}
	if _, err := NodeSockets("syndic", opts, ""); err == nil ||
		err.Error() != `node is "syndic"; it can be master or minion` {
		t.Errorf("syndic: %v", err)
	}
}

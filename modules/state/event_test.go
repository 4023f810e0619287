package state_test

import (
	"context"
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// TestEvent checks that the function ends with the expected event, and fails for an unknown node.
func TestEvent(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus") // the names of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h := newHarness(t, nil, "sock_dir", dir)
	sockets, err := eventbus.MinionSockets(dir, "web1", "sha256")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	bus, served := eventbus.New(eventbus.Options{}), make(chan error, 1)
	go func() { served <- bus.Serve(ctx, sockets, eventbus.ServeOptions{}) }()
	for range 2 {
		done := make(chan any, 1)
		go func() {
			done <- h.call(t, "20260101000000000009", "state.event", "wanted", "count=1", "quiet=True").Value
		}()
		for got := false; !got; {
			if err := bus.Fire("wanted", data.NewMap()); err != nil {
				t.Fatal(err)
			}
			select {
			case v := <-done:
				if got = true; v != nil {
					t.Errorf("it returns %s", data.Repr(v))
				}
			default:
			}
		}
	}
	h.expect(t, "'ERROR: node is \"x\"; it can be master or minion'", 1, "state.event", "node=x")
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

package beacons

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	engine "github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// TestSaltCallUsesMinionOfHost calls the module outside of the minion, whose bus has sockets.
func TestSaltCallUsesMinionOfHost(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("conf_file", filepath.Join(dir, "minion"), "id", "web1",
		"sock_dir", run)}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, args []any, want string) {
		t.Helper()
		got, err := r.Invoke(t.Context(), "beacons."+fun, args, nil)
		if err != nil || data.Repr(got) != want {
			t.Errorf("%s: %s %v, want %s", fun, data.Repr(got), err, want)
		}
	}
	config := []any{data.NewMap("a", int64(1))}
	call("add", []any{"tick", config}, "{'comment': 'Failed to add beacon tick.', 'result': False}")
	serve(t, run)
	call("list", []any{false}, "{}")
	call("add", []any{"tick", config}, "{'comment': 'Added beacon: tick.', 'result': True}")
	call("add", []any{"tick", config}, "{'comment': 'Beacon tick is already configured.', 'result': True}")
	call("list", []any{false}, "{'tick': [{'a': 1}]}")
	for range 2 {
		call("delete", []any{"tick"}, "{'comment': 'Deleted beacon: tick.', 'result': True}")
	}
}

// serve runs the beacons of a minion behind the sockets of its bus.
func serve(t *testing.T, dir string) {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		engine.Plugin("tick", "", func(*loader.Env) (engine.Beacon, error) { return tick{}, nil })})
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{ID: "web1", Functions: functions})
	sockets, err := eventbus.MinionSockets(dir, "web1", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bus, ready := eventbus.New(eventbus.Options{}), make(chan struct{})
	requests := bus.Subscribe(eventbus.SubscribeOptions{Prefixes: []string{requestTag}})
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := bus.Serve(ctx, sockets,
			eventbus.ServeOptions{Ready: func() { close(ready) }}); err != nil && ctx.Err() == nil {
			t.Errorf("bus: %v", err)
		}
	})
	done.Go(func() {
		for event := range requests.All(ctx) {
			request, err := event.Map()
			if err != nil {
				t.Error(err)
				return
			}
			tag, body, err := e.Manage(ctx, request)
			if err == nil {
				err = bus.Fire(tag, body)
			}
			if err != nil {
				t.Errorf("answer %s: %v", data.Repr(request), err)
			}
		}
	})
	t.Cleanup(func() { stop(); done.Wait(); requests.Close() })
	<-ready
}

package minion

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// TestLocalRequestsGoOnAfterAPanic runs the part again after a request made it panic.
func TestLocalRequestsGoOnAfterAPanic(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}})
	l := newLocal(w.Minion)
	defer l.close()
	ctx, stop := context.WithCancel(t.Context())
	requests := 0
	l.reactions[0].do = func(context.Context, string, *data.Map) error {
		if requests++; requests == 1 {
			panic("oops")
		}
		stop()
		return nil
	}
	run := func() (err error, panicked bool) {
		defer func() { panicked = recover() != nil }()
		return l.run(ctx), false
	}
	for _, panics := range []bool{true, false} {
		if err := w.bus.Fire(l.reactions[0].prefix, data.NewMap()); err != nil {
			t.Fatal(err)
		}
		err, panicked := run()
		if panicked != panics || !panics && !errors.Is(err, context.Canceled) {
			t.Fatalf("run = %v, panic %t, want %t", err, panicked, panics)
		}
	}
	if requests != 2 {
		t.Errorf("%d requests were handled, want 2", requests)
	}
}

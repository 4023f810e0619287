package schedule

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// TestJobThatComesBackFromItsFileKeepsItsPace gives a scheduler a job by a request, and then the same job as the file has it,
// where its entries are in another order.
func TestJobThatComesBackFromItsFileKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		s, err := New(Options{Run: func(context.Context, Call) error { runs.Add(1); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		item := data.NewMap("function", "test.ping", "run_on_start", true, "seconds", int64(60), "args", []any{"a"}, "maxrunning", int64(1))
		if _, _, err := s.Manage(ctx, data.NewMap("func", "add", "name", "beat", "schedule", data.NewMap("beat", item))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		before := runs.Load()
		s.SetConfig(data.NewMap("beat", data.NewMap("args", []any{"a"}, "function", "test.ping", "maxrunning", int64(1), "name", "beat", "run_on_start", true, "seconds", int64(60))))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if runs.Load() != before {
			t.Errorf("run_on_start ran again: %d runs, had %d", runs.Load(), before)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if runs.Load() != before+1 {
			t.Errorf("%d runs after a minute, want %d: the job has lost its pace", runs.Load(), before+1)
		}
		stop()
		<-done
	})
}

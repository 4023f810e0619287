package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAside has a crew of two whose jobs wait aside: a third and a fourth job are done meanwhile,
// and afterwards there are two workers again.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		var done, most, now atomic.Int32
		c := NewCrew(2, func(long bool) {
			if long {
				Aside(ctx, func() { time.Sleep(time.Hour) })
			}
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			done.Add(1)
		})
		ctx = WithAside(t.Context(), c)
		start := time.Now()
		for range 2 {
			if !c.Submit(true) {
				t.Fatal("a worker is free and takes no job")
			}
		}
		for range 4 {
			c.Queue() <- false
		}
		synctest.Wait()
		if since := time.Since(start); since > time.Minute {
			t.Errorf("jobs waited %v for others that were aside", since)
		}
		time.Sleep(2 * time.Hour)
		if n := done.Load(); n != 6 || most.Load() > 2 {
			t.Errorf("%d jobs were done, %d at once", n, most.Load())
		}
		for range 6 {
			c.Queue() <- false
		}
		time.Sleep(time.Hour)
		if most.Load() > 2 || done.Load() != 12 {
			t.Errorf("%d jobs at once, %d done", most.Load(), done.Load())
		}
		if !c.Dismiss(time.Minute) {
			t.Error("workers do not end")
		}
	})
}

func TestAsideWithoutCrew(t *testing.T) {
	ran := false
	Aside(t.Context(), func() { ran = true })
	if !ran {
		t.Error("what was to be waited for was not")
	}
}

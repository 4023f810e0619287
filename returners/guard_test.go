package returners

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a cache whose server answers when it is released.
type stuck struct {
	JobCache
	open chan struct{}
}

func (s *stuck) SaveJob(context.Context, *Job) error { <-s.open; return nil }

func TestGuardRefusesAtOnceWhileAServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{open: make(chan struct{})}
		g := Guard("mysql", s, GuardOptions{Parallel: 4})
		done := make(chan error, 100)
		for range 10 { // four are running, the others wait for their turn
			go func() { done <- g.SaveJob(t.Context(), &Job{}) }()
		}
		begin := time.Now()
		for range 6 {
			if err := <-done; !errors.Is(err, ErrBusy) || time.Since(begin) > time.Second {
				t.Errorf("a call that waits: %v after %v", err, time.Since(begin))
			}
		}
		time.Sleep(time.Millisecond)
		begin = time.Now()
		if err := g.SaveJob(t.Context(), &Job{}); !errors.Is(err, ErrBusy) || time.Since(begin) != 0 {
			t.Errorf("a later call: %v after %v", err, time.Since(begin))
		}
		close(s.open)
		for range 4 {
			if err := <-done; err != nil {
				t.Errorf("a call under way: %v", err)
			}
		}
		if err := g.SaveJob(t.Context(), &Job{}); err != nil {
			t.Errorf("after the server came back: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.SaveJob(ended, &Job{}); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

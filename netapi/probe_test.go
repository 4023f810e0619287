package netapi

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestManyQuestionsAreOneProbe asks whether the master is there as a load balancer does, from many places.
func TestManyQuestionsAreOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, error(nil)
		p := newProbe(func(ctx context.Context) error {
			asked++
			time.Sleep(100 * time.Millisecond)
			if ctx.Err() != nil {
				t.Error("the question ends with the request of one who asks")
			}
			return answer
		})
		impatient, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		var all sync.WaitGroup
		all.Go(func() { _ = p.ask(impatient) })
		synctest.Wait()
		for range 50 {
			all.Go(func() {
				if err := p.ask(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := p.ask(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one who does not wait gets %v", err)
			}
		})
		all.Wait()
		answer = errors.New("no master")
		if err := p.ask(t.Context()); err != nil || asked != 1 {
			t.Errorf("within a second: %v, asked %d times", err, asked)
		}
		time.Sleep(probeEvery)
		if err := p.ask(t.Context()); err == nil || asked != 2 {
			t.Errorf("after a second: %v, asked %d times", err, asked)
		}
	})
}

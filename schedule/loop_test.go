package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRunAgain starts a scheduler again after it was stopped, and after a panic while a job was
// under way.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "2026-05-04T12:00:00", "a: {seconds: 10, maxrunning: 2}", Options{})
		run := func(ctx context.Context) chan any {
			ended := make(chan any, 1)
			go func() {
				defer func() { ended <- recover() }()
				if err := b.Run(ctx); err != nil {
					t.Error(err)
				}
			}()
			return ended
		}
		first, stop := context.WithCancel(t.Context())
		ended := run(first)
		b.pass(15 * time.Second)
		b.expect("a 0504T12:00:10")
		stop()
		<-ended

		b.lasts = time.Hour
		ended = run(t.Context())
		b.pass(6 * time.Second)
		b.expect("a 0504T12:00:20")
		b.o.Now = func() time.Time { panic("no clock") }
		b.stir()
		synctest.Wait()
		b.o.Now = b.now
		select {
		case r := <-ended:
			if r != "no clock" {
				t.Fatalf("Run ended with %v", r)
			}
		default:
			t.Fatal("Run waits for a job though it has failed")
		}

		b.lasts = 0
		last, stop := context.WithCancel(t.Context())
		ended = run(last)
		b.pass(10 * time.Second)
		b.expect("a 0504T12:00:30")
		stop()
		time.Sleep(time.Hour) // of the bubble: until the job is over
		<-ended
	})
}

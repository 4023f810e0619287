package returnertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/returners"
)

// callers is the number of concurrent callers.
const callers = 32

// together calls do for the numbers below n, from many goroutines.
func (s *subject) together(n int, do func(n int) error) {
	s.t.Helper()
	var (
		group errgroup.Group
		next  atomic.Int64
	)
	for range callers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := do(i); err != nil {
					return fmt.Errorf("number %d: %w", i, err)
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

func testClosed(t *testing.T, s *subject) {
	j := Job(t, 1, "test.ping", "web1")
	s.save(j)
	if err := s.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second Close() = %v", err)
	}
	_, err1 := s.SaveReturn(t.Context(), j.ID, Return(t, j.ID, "web1", true, 1))
	_, err2 := s.Returns(t.Context(), j.ID)
	_, err3 := s.Jobs(t.Context(), returners.Filter{})
	_, err4 := s.Clean(t.Context(), begin)
	for n, err := range []error{s.SaveJob(t.Context(), j),
		s.AddMinions(t.Context(), j.ID, []string{"web2"}), err1, err2, err3, err4} {
		if err == nil || errors.Is(err, returners.ErrUnknownJob) {
			t.Errorf("call %d after Close = %v", n, err)
		}
	}
}

func testEnded(t *testing.T, s *subject) {
	kept, other := Job(t, 1, "test.ping", "web1"), Job(t, 2, "test.ping", "web1")
	s.save(kept)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err1 := s.SaveReturn(ended, kept.ID, Return(t, kept.ID, "web1", true, 1))
	_, err2 := s.Clean(ended, begin.Add(time.Hour))
	_, err3 := s.Returns(ended, kept.ID)
	_, err4 := s.Jobs(ended, returners.Filter{})
	for n, err := range []error{s.SaveJob(ended, other),
		s.AddMinions(ended, kept.ID, []string{"web2"}), err1, err2, err3, err4} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d = %v, want the error of the context", n, err)
		}
	}
	s.wantJob(kept)
	s.wantReturns(kept.ID)
	if _, err := s.Job(t.Context(), other.ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("Job(%s) = %v, want ErrUnknownJob", other.ID, err)
	}
}

// testCancelled ends contexts while returns wait to be written: those with their context's error
// are not stored, those without an error are.
func testCancelled(t *testing.T, s *subject) {
	j := Job(t, 1, "test.echo")
	s.save(j)
	var (
		mu     sync.Mutex
		expect = map[string]bool{}
		text   = make([]byte, 600<<10) // in several pieces, where a cache makes those
	)
	s.together(200, func(n int) error {
		minion, value := fmt.Sprint("m", n), text[:n%2*len(text)]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go cancel()
		_, err := s.SaveReturn(ctx, j.ID, Return(t, j.ID, minion, value, 1))
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		expect[minion] = err == nil
		return nil
	})
	got, err := s.Returns(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if !expect[r.Minion] {
			t.Errorf("the return of %s is there, though saving it was cancelled", r.Minion)
		}
		delete(expect, r.Minion)
	}
	for minion, saved := range expect {
		if saved {
			t.Errorf("the return of %s is missing", minion)
		}
	}
}

// testConcurrent sends each return twice, from two callers, while others read, add minions and
// delete old jobs.
func testConcurrent(t *testing.T, s *subject) {
	const jobs, minions = 10, 20
	var all []*returners.Job
	for n := range jobs {
		all = append(all, Job(t, n+1000, "test.echo"))
		s.save(all[n])
	}
	var fresh [jobs * minions]atomic.Int64
	s.together(2*jobs*minions, func(n int) error {
		at := n / 2
		j, minion := all[at%jobs], fmt.Sprint("m", at/jobs)
		isNew, err := s.SaveReturn(t.Context(), j.ID, Return(t, j.ID, minion, int64(at), n%2))
		if isNew {
			fresh[at].Add(1)
		}
		_, err2 := s.Job(t.Context(), j.ID)
		return errors.Join(err, err2, s.mixed(n, j, minion))
	})
	for at := range fresh {
		if n := fresh[at].Load(); n != 1 {
			t.Errorf("return %d was new %d times", at, n)
		}
	}
	for _, j := range all {
		got, err := s.Returns(t.Context(), j.ID)
		if err != nil || len(got) != minions {
			t.Errorf("Returns(%s) = %d, %v, want %d", j.ID, len(got), err, minions)
		}
		now, err := s.Job(t.Context(), j.ID)
		if err != nil || len(now.Minions) != minions {
			t.Errorf("Job(%s) = %v, %v, want %d minions", j.ID, now, err, minions)
		}
	}
}

func (s *subject) mixed(n int, j *returners.Job, minion string) error {
	ctx := s.t.Context()
	switch n % 8 {
	case 1:
		old := Job(s.t, n, "test.ping", "web1")
		return errors.Join(s.SaveJob(ctx, old), s.AddMinions(ctx, j.ID, []string{minion}))
	case 3:
		_, err := s.Clean(ctx, begin.Add(900*time.Second))
		return errors.Join(err, s.AddMinions(ctx, j.ID, []string{minion}))
	case 5:
		_, err := s.Jobs(ctx, returners.Filter{Fun: "test.echo", Limit: 3})
		return errors.Join(err, s.AddMinions(ctx, j.ID, []string{minion}))
	case 7:
		_, err := s.Returns(ctx, j.ID)
		return errors.Join(err, s.AddMinions(ctx, j.ID, []string{minion}))
	}
	return nil
}

package master

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// picky is a job cache that does not take some jobs, and none while it is away.
type picky struct {
	*memoryJobs
	wrong map[job.ID]error

	mine  sync.Mutex
	away  bool
	asked map[job.ID]int
}

func (p *picky) SaveJob(ctx context.Context, j *returners.Job) error {
	p.mine.Lock()
	p.asked[j.ID]++
	away := p.away
	p.mine.Unlock()
	if away {
		return errors.New("no connection")
	}
	if err := p.wrong[j.ID]; err != nil {
		return err
	}
	return p.memoryJobs.SaveJob(ctx, j)
}

// TestAJobThatNoServerTakesStopsNoOther orders several jobs. The server rejects one of them, and
// another one fails each time. The others are saved at once, also those ordered while the server
// was away; both failing jobs are lost and logged.
func TestAJobThatNoServerTakesStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := func(n int) job.ID { return job.ID(fmt.Sprintf("202603011200000000%02d", n)) }
		cache := &picky{memoryJobs: newMemoryJobs(), asked: map[job.ID]int{},
			wrong: map[job.ID]error{id(0): errors.New("the row is too large"),
				id(1): fmt.Errorf("no such character: %w", returners.ErrRefused),
				id(9): errors.New("the row is too large")}}
		log, hook := logtest.NewNullLogger()
		x := &extCache{name: "x", open: func(context.Context) (returners.JobCache, error) { return cache, nil }, queue: make(chan *extJob, 100),
			quiet: &loglimit.Limiter{}, log: log}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- x.run(ctx) }()
		add := func(from, to int) {
			for n := from; n < to; n++ {
				x.add(&returners.Job{ID: id(n)})
			}
		}
		leave := func(away bool) { cache.mine.Lock(); defer cache.mine.Unlock(); cache.away = away }
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		has := func(n, want int) {
			t.Helper()
			cache.mu.Lock()
			defer cache.mu.Unlock()
			if len(cache.jobs) != want {
				t.Errorf("with job %d %d jobs are saved, want %d", n, len(cache.jobs), want)
			}
		}
		add(0, 5)
		pass(10 * time.Second)
		has(4, 3)
		leave(true)
		add(5, 8)
		pass(time.Hour)
		has(7, 3)
		leave(false)
		pass(10 * time.Minute)
		has(7, 6)
		for n := 50; n < 55; n++ { // each shows that the server is there
			add(n, n+1)
			pass(10 * time.Minute)
		}
		cache.mine.Lock()
		asked := cache.asked[id(0)]
		cache.mine.Unlock()
		pass(24 * time.Hour)
		cache.mine.Lock()
		if cache.asked[id(0)] != asked || cache.asked[id(1)] != 1 || x.lost != 2 {
			t.Errorf("jobs that are not taken were tried %d and %d times, %d are lost",
				cache.asked[id(0)]-asked, cache.asked[id(1)], x.lost)
		}
		cache.mine.Unlock()
		if n := hookLogs(hook, "lost so far"); n != 2 {
			t.Errorf("%d lines tell of lost jobs, want 2", n)
		}
		add(9, 10) // is tried when the master ends, and must not cost the next
		add(60, 61)
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		has(60, 12)
		if strings.Contains(fmt.Sprint(cache.jobs), string(id(9))) {
			t.Error("a job that is not taken is there")
		}
	})
}

// TestJobsOutlastAnEndWhileTheServerIsOpened ends the master while its returner is still being
// opened: the job that waits is saved.
func TestJobsOutlastAnEndWhileTheServerIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := newMemoryJobs()
		log, _ := logtest.NewNullLogger()
		open := func(ctx context.Context) (returners.JobCache, error) { return cache, clock.Sleep(ctx, lastExt/2) }
		x := &extCache{name: "x", open: open, queue: make(chan *extJob, 100),
			quiet: &loglimit.Limiter{}, log: log}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- x.run(ctx) }()
		x.add(&returners.Job{ID: "20260301120000000001"})
		stop()
		<-done
		if jobs := cache.all(); len(jobs) != 1 {
			t.Errorf("saved are %v", jobs)
		}
	})
}

//go:build linux

package lifetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
)

// stormKind is the kind of the jobs of a storm.
const stormKind = "storm"

// stormVar is the environment variable with the duration of a storm, for example 30m.
const stormVar = "BRINE_STORM"

// TestStorm submits a stream of jobs while the master and single minions are killed repeatedly and
// restarted at once.
func TestStorm(t *testing.T) {
	need.Time(t, "two storms take half a minute each")
	t.Parallel()
	bin := build(t)
	t.Run("with a queue", func(t *testing.T) {
		t.Parallel()
		testStorm(t, bin, data.NewMap("queue", int64(600)))
	})
	t.Run("without a queue", func(t *testing.T) {
		t.Parallel()
		testStorm(t, bin, nil)
	})
}

// stormTime returns how long jobs are submitted.
func stormTime(t *testing.T) time.Duration {
	t.Helper()
	long := 30 * time.Second
	if text := os.Getenv(stormVar); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", stormVar, err)
		}
	}
	return long
}

// testStorm checks that each job that the master confirmed is answered once by each minion that it
// was sent to or is kept for, and runs once there. Without a queue a job may miss a minion; its
// state then says so, with the reason.
func testStorm(t *testing.T, bin string, kwargs *data.Map) {
	long, n := stormTime(t), seed(t)
	ids := []string{}
	for i := range 12 {
		ids = append(ids, fmt.Sprintf("web%02d", i+1))
	}
	s := newSite(t, bin, ids...)
	s.startAll(t)
	s.accept(t)
	l := newLoad(s, rand.New(rand.NewPCG(n, 0)))
	defer l.close()
	heard := &events{rets: map[answer]int{}}
	l.pingAll(t, heard.of(t, s))

	kills := s.storm(t, l, kwargs, long, n)
	l.pingAll(t, heard)
	s.awaitQuiet(t)
	s.awaitSettled(t, l)
	s.stopAll(t)
	s.checkNothingLeft(t)
	j := newJudge(t, s, l, heard, nil)
	j.verdict(t)
	j.settled(t, s, l, kwargs.Has("queue"))
	t.Logf("%s: the master was killed %d times, minions %d times", long, kills.master.Load(),
		kills.minions.Load())
	if kills.master.Load() == 0 || kills.minions.Load() == 0 {
		t.Error("the run is void: nothing was killed")
	}
}

// of counts, with the listener e, until the end of the test.
func (e *events) of(t *testing.T, s *site) *events {
	ctx, cancel := context.WithCancel(t.Context())
	var ear errgroup.Group
	ear.Go(func() error { e.listen(ctx, s.master.sockets); return nil })
	t.Cleanup(func() { cancel(); _ = ear.Wait() })
	return e
}

// struck counts kills.
type struck struct{ master, minions atomic.Int64 }

// storm submits jobs for a time while daemons are killed.
func (s *site) storm(t *testing.T, l *load, kwargs *data.Map, long time.Duration, n uint64) *struck {
	t.Helper()
	kills, end := &struck{}, time.Now().Add(long)
	targets := []any{}
	for _, m := range s.minions {
		targets = append(targets, m.id)
	}
	group, ctx := errgroup.WithContext(t.Context())
	strike := func(d *daemon) error {
		if err := d.stop(syscall.SIGKILL); err != nil {
			return err
		}
		return d.start()
	}
	group.Go(func() error {
		rng := rand.New(rand.NewPCG(n, 1))
		for pauseUntil(ctx, end, 4*time.Second, 12*time.Second, rng) {
			if err := strike(s.master); err != nil {
				return err
			}
			kills.master.Add(1)
		}
		return nil
	})
	group.Go(func() error {
		rng := rand.New(rand.NewPCG(n, 2))
		for pauseUntil(ctx, end, time.Second, 4*time.Second, rng) {
			if err := strike(s.minions[rng.IntN(len(s.minions))].daemon); err != nil {
				return err
			}
			kills.minions.Add(1)
		}
		return nil
	})
	group.Go(func() error {
		for pauseUntil(ctx, end, 100*time.Millisecond, time.Second, l.rng) {
			err := l.orderOf(ctx, stormKind, func(o *order) {
				o.request.Target, o.request.Kind, o.request.Kwargs = targets, "list", kwargs
				o.shell([]string{"", "", "; sleep 0.5"}[l.rng.IntN(3)])
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return kills
}

// pauseUntil waits for a random time between two others, and returns false if end has come.
func pauseUntil(ctx context.Context, end time.Time, least, most time.Duration, rng *rand.Rand) bool {
	timer := time.NewTimer(least + time.Duration(rng.Int64N(int64(most-least))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil && time.Now().Before(end)
}

// settleTime is the limit for the last jobs to be answered or given up.
const settleTime = 3 * time.Minute

// awaitSettled waits, for a limited time, until no job is pending any more: what is left then is a
// fault, which the judge reports.
func (s *site) awaitSettled(t *testing.T, l *load) {
	t.Helper()
	cache, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(s.masterCfg.CacheDir, "jobs.db"),
		jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	open := l.confirmedOrders()
	for end := time.Now().Add(settleTime); len(open) > 0 && time.Now().Before(end); time.Sleep(time.Second) {
		open = slices.DeleteFunc(open, func(o *order) bool {
			list, err := cache.Progress(t.Context(), job.ID(o.jid))
			return err == nil && !slices.ContainsFunc(list,
				func(p returners.Progress) bool { return onItsWay(p.State) })
		})
	}
}

// onItsWay reports whether a job in a state is still pending.
func onItsWay(s returners.State) bool {
	return s == returners.Sent || s == returners.Queued || s == returners.Acknowledged ||
		s == returners.Running
}

func (l *load) confirmedOrders() (list []*order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.orders {
		if o.confirmed && o.kind == stormKind {
			list = append(list, o)
		}
	}
	return list
}

// settled fails the test for each minion of an accepted job whose outcome is unknown at the end.
func (j *judge) settled(t *testing.T, s *site, l *load, queued bool) {
	t.Helper()
	cache, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(s.masterCfg.CacheDir, "jobs.db"),
		jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	counts, expected := map[returners.State]int{}, 0
	lost := []string{}
	for _, o := range l.confirmedOrders() {
		list, err := cache.Progress(t.Context(), job.ID(o.jid))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			counts[p.State]++
			expected++
			told := p.State == returners.Missed && p.Why != "" || p.State == returners.Absent &&
				slices.Contains(o.absent, p.Minion)
			if p.State != returners.Returned && (queued || !told) {
				lost = append(lost, fmt.Sprintf("job %s on %s is %q: %s", o.jid, p.Minion, p.State, p.Why))
			}
		}
	}
	t.Logf("%d orders taken, %d returns expected, in the end: %v; missing = %d",
		len(l.confirmedOrders()), expected, counts, len(lost))
	if len(lost) > 0 {
		slices.Sort(lost)
		t.Errorf("missing:\n%s", strings.Join(lost[:min(len(lost), 40)], "\n"))
	}
}

//go:build linux

package lifetest

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/internal/test/need"
)

// TestLife runs a master and minions as processes.
func TestLife(t *testing.T) {
	t.Parallel()
	bin := build(t)
	t.Run("stopped at random", func(t *testing.T) {
		need.Time(t, "it gives 500 orders")
		t.Parallel()
		testStops(t, bin)
	})
	t.Run("ended and started again by its own job", func(t *testing.T) {
		t.Parallel()
		testOwnRestart(t, bin, "TERM", "head -c 200000 /dev/zero")
	})
	t.Run("killed and started again by its own job", func(t *testing.T) {
		t.Parallel()
		testOwnRestart(t, bin, "KILL", "true")
	})
}

// seed returns the seed in the environment, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("BRINE_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("BRINE_SEED: %v", err)
		}
	}
	t.Logf("BRINE_SEED=%d", n)
	return n
}

// testStops submits jobs while master and minions are killed, stopped, and started again: nothing
// that was acknowledged is lost, nothing runs or is recorded twice, each start succeeds, nothing is
// left.
func testStops(t *testing.T, bin string) {
	const jobs, rounds = 500, 20
	n := seed(t)
	s := newSite(t, bin, "web1", "web2")
	s.startAll(t)
	s.accept(t)
	l := newLoad(s, rand.New(rand.NewPCG(n, 0)))
	heard := &events{rets: map[answer]int{}}
	listening, stopListening := context.WithCancel(t.Context())
	var ear errgroup.Group
	ear.Go(func() error { heard.listen(listening, s.master.sockets); return nil })
	l.pingAll(t, heard)

	killers := []*killer{{daemon: s.master, site: s, away: 1500 * time.Millisecond,
		rng: rand.New(rand.NewPCG(n, 1))}}
	for i, m := range s.minions {
		killers = append(killers, &killer{daemon: m.daemon, site: s, min: m,
			away: 500 * time.Millisecond, rng: rand.New(rand.NewPCG(n, uint64(i+2)))})
	}
	s.disturb(t, l, killers, jobs, rounds)
	strikeLong(t, l, killers[1])
	strikeReturns(t, l, killers[0])

	for _, m := range s.minions { // whatever still runs ends here
		if err := m.stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := m.start(); err != nil {
			t.Fatal(err)
		}
	}
	l.pingAll(t, heard)
	s.awaitQuiet(t)
	s.stopAll(t)
	s.checkNothingLeft(t)
	j := newJudge(t, s, l, heard, stopped(killers))
	j.verdict(t)
	checkWitness(t, j, killers, jobs)

	s.startAll(t) // nothing that was left hinders a start
	l.pingAll(t, heard)
	s.stopMasterFirst(t)
	s.checkNothingLeft(t)
	stopListening()
	if err := ear.Wait(); err != nil {
		t.Error(err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	for _, d := range s.all() {
		t.Log(d.times())
	}
}

const (
	lead         = 2 // rounds that the load may be ahead of the slowest killer
	longestPause = 60 * time.Millisecond
)

// disturb submits jobs while killers work. Neither gets far ahead of the other, so that stops are
// spread over all jobs.
func (s *site) disturb(t *testing.T, l *load, killers []*killer, jobs, rounds int) {
	t.Helper()
	before := l.confirmed()
	group, ctx := errgroup.WithContext(t.Context())
	for _, k := range killers {
		group.Go(func() error {
			return k.rounds(ctx, rounds, func(round int) bool { return l.confirmed()-before >= round*jobs/rounds })
		})
	}
	group.Go(func() error {
		for ctx.Err() == nil && l.confirmed()-before < jobs {
			if slowest(killers) < (l.confirmed()-before)*rounds/jobs-lead {
				time.Sleep(look)
				continue
			}
			time.Sleep(time.Duration(l.rng.IntN(int(longestPause))))
			if err := l.order(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// strikeLong kills a minion while a job of its runs an endless program, regardless of the random
// stops before.
func strikeLong(t *testing.T, l *load, k *killer) {
	t.Helper()
	run := l.running(t, "long", k.min)
	if err := k.strikeWith(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(k.min.running(), run) {
		t.Errorf("job %s does not show any more as one that ran on %s", run, k.min.id)
	}
	if err := k.start(); err != nil {
		t.Fatal(err)
	}
}

// strikeReturns stops the master while minions run a job, and lets the job end while nobody accepts
// its returns.
func strikeReturns(t *testing.T, l *load, k *killer) {
	t.Helper()
	l.running(t, "second", k.site.minions[0])
	if err := k.strikeWith(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "a return in a spool", func() bool { return len(k.site.minions[0].spooled()) > 0 })
	k.look()
	if err := k.start(); err != nil {
		t.Fatal(err)
	}
}

func slowest(killers []*killer) int {
	least := killers[0].done.Load()
	for _, k := range killers {
		least = min(least, k.done.Load())
	}
	return int(least)
}

// awaitQuiet waits until no minion runs a job or has a return to deliver.
func (s *site) awaitQuiet(t *testing.T) {
	t.Helper()
	for _, m := range s.minions {
		await(t, "the last returns of "+m.id, func() bool {
			return len(m.spooled())+len(m.running()) == 0
		})
	}
}

func stopped(killers []*killer) (all []answer) {
	for _, k := range killers {
		all = append(all, k.seen.running...)
	}
	return all
}

// checkWitness invalidates a run in which stops interrupted nothing.
func checkWitness(t *testing.T, j *judge, killers []*killer, jobs int) {
	t.Helper()
	killed, told, spooled, long := 0, 0, 0, 0
	for _, k := range killers {
		killed, told, spooled = killed+k.seen.killed, told+k.seen.told, spooled+k.seen.spooled
	}
	for _, a := range stopped(killers) {
		if o := j.orders[a.jid]; o != nil && o.kind == "long" {
			long++
		}
	}
	t.Logf("%d times killed, %d times told to end; then %d jobs ran, of which %d had programs that would not end, and %d returns were in spools",
		killed, told, len(stopped(killers)), long, spooled)
	if killed == 0 || told == 0 || len(stopped(killers)) == 0 || spooled == 0 || j.interrupted == 0 {
		t.Error("the run is void: the stops did not hit jobs and returns under way")
	}
	if long == 0 {
		t.Error("the run is void: no minion was killed while a job had a long program")
	}
	if len(j.started) < jobs/2 {
		t.Errorf("the run is void: of %d jobs for two minions only %d were begun", jobs, len(j.started))
	}
}

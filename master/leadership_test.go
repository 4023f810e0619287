package master

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/schedule"
)

// TestPartsWorkOnlyUnderTheLead runs a part over two leads: it works while this member leads, and the
// lead is given back only after it has stopped.
func TestPartsWorkOnlyUnderTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeadership()
		var works atomic.Int32
		var tokens []uint64
		part := l.once(daemon.Part{Name: "p", Run: func(ctx context.Context, _ func()) error {
			works.Add(1)
			tokens = append(tokens, tokenOf(ctx))
			<-ctx.Done()
			time.Sleep(time.Second) // it takes a while to stop
			works.Add(-1)
			return ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		ready := make(chan struct{})
		go func() { ended <- part.Run(ctx, func() { close(ready) }) }()
		<-ready
		synctest.Wait()
		if works.Load() != 0 || l.leads() {
			t.Error("it works without the lead")
		}
		for _, n := range []uint64{4, 9} {
			led, end := context.WithCancel(t.Context())
			back := make(chan struct{})
			go func() { l.lead(led, cluster.Token{Number: n}, func() {}); close(back) }()
			synctest.Wait()
			if works.Load() != 1 || !l.leads() {
				t.Errorf("it does not work under lead %d", n)
			}
			end()
			<-back
			if works.Load() != 0 || l.leads() {
				t.Errorf("it works after lead %d", n)
			}
		}
		same(t, "tokens", tokens, []uint64{4, 9})
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the part ends: %v", err)
		}
	})
}

// TestPartThatFailsUnderTheLead reports the error, so that the part is restarted.
func TestPartThatFailsUnderTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeadership()
		fault := errors.New("fault")
		part := l.once(daemon.Part{Name: "p", Run: func(context.Context, func()) error { return fault }})
		led, end := context.WithCancel(t.Context())
		back := make(chan struct{})
		go func() { l.lead(led, cluster.Token{Number: 1}, func() {}); close(back) }()
		for range 2 {
			if err := part.Run(t.Context(), func() {}); !errors.Is(err, fault) {
				t.Errorf("Run = %v", err)
			}
		}
		end()
		<-back // nothing holds the lead up
	})
}

func TestTasksRunOnceUnderTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeadership()
		ran := 0
		task := l.onceEach(func(ctx context.Context) error {
			ran++
			<-ctx.Done()
			return ctx.Err()
		})
		must(t, task(t.Context()))
		if ran != 0 {
			t.Error("it runs without the lead")
		}
		led, end := context.WithCancel(t.Context())
		back := make(chan struct{})
		go func() { l.lead(led, cluster.Token{Number: 1}, func() {}); close(back) }()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- task(t.Context()) }()
		synctest.Wait()
		end()
		if err := <-ended; !errors.Is(err, context.Canceled) || ran != 1 {
			t.Errorf("ran %d times, %v", ran, err)
		}
		<-back
		must(t, task(t.Context()))
		if ran != 1 {
			t.Error("it runs after the lead")
		}
	})
	var alone *leadership
	task := alone.onceEach(func(context.Context) error { return errLocked })
	if !errors.Is(task(t.Context()), errLocked) || !alone.leads() {
		t.Error("a master without a cluster does not run it")
	}
}

// TestPositionOfRandomFinishes finishes entries in a random order, and crashes between saves: what the
// file has is done, and all before it.
func TestPositionOfRandomFinishes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		file := filepath.Join(t.TempDir(), "position")
		p, err := openPosition(file, streamView{"s", 1, "k"}, silent(t))
		must(t, err)
		done := map[uint64]bool{}
		order := random.Perm(200)
		var saved uint64
		for _, i := range order {
			n := uint64(i + 1)
			done[n] = true
			p.finishUnder(n, n/10)
			if random.IntN(20) == 0 {
				must(t, p.save())
				saved = p.now()
			}
			if random.IntN(50) == 0 { // a crash
				if p, err = openPosition(file, streamView{"s", 1, "k"}, silent(t)); err != nil {
					t.Fatal(err)
				}
				if p.now() != saved {
					t.Fatalf("opened at %d, saved was %d", p.now(), saved)
				}
				for n := range done { // they are carried out again
					if n > saved {
						p.finish(n)
					}
				}
			}
			for n := uint64(1); n <= p.now(); n++ {
				if !done[n] {
					t.Fatalf("at %d, and %d is not done", p.now(), n)
				}
			}
		}
		if p.now() != 200 || len(p.done) > 0 {
			t.Fatalf("at %d in the end, with %d left", p.now(), len(p.done))
		}
		must(t, p.await(t.Context(), 200))
	}
}

// TestPositionOfAnotherTime begins anew where the file is damaged, as after a power failure, or of a
// stream that NATS has lost.
func TestPositionOfAnotherTime(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "x": 0, "5": 0, "-1 2 s": 0, "5 x s": 0, "5 2 other": 0, "5 2 s": 5} {
		file := filepath.Join(t.TempDir(), "position")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		p, err := openPosition(file, streamView{"s", 1, "k"}, silent(t))
		must(t, err)
		if p.now() != want || want == 0 && p.token != 0 {
			t.Errorf("%q is read as %d, token %d", text, p.now(), p.token)
		}
		if lost := p.isFormer("other"); lost != (text == "5 2 other") || p.isFormer("s") {
			t.Errorf("%q: the other stream is lost: %t", text, lost)
		}
		p.finish(want + 1)
		must(t, p.save())
		if p, err = openPosition(file, streamView{"s", 1, "k"}, silent(t)); err != nil || p.now() != want+1 {
			t.Errorf("after %q the file has %d: %v", text, p.now(), err)
		}
	}
}

// What could not be read for want of a cluster key is carried out as soon as the member has other keys.
func TestPositionGoesBackForANewClusterKey(t *testing.T) {
	for name, tt := range map[string]struct {
		view     streamView
		at, left uint64 // left is what still waits for a key
	}{
		"the same keys":           {streamView{"s", 1, "k"}, 9, 4},
		"another key":             {streamView{"s", 1, "k,l"}, 3, 0},
		"the first has gone":      {streamView{"s", 5, "k,l"}, 4, 0},
		"all have gone":           {streamView{"s", 10, "k,l"}, 9, 0},
		"another stream":          {streamView{"t", 1, "k,l"}, 0, 0},
		"the entry is the oldest": {streamView{"s", 4, "l"}, 3, 0},
	} {
		file := filepath.Join(t.TempDir(), "position")
		p, err := openPosition(file, streamView{"s", 1, "k"}, silent(t))
		must(t, err)
		for n := range uint64(9) {
			if n == 3 || n == 6 {
				p.leaveOut(n + 1)
				continue
			}
			p.finishUnder(n+1, n)
		}
		must(t, p.save())
		if p, err = openPosition(file, tt.view, silent(t)); err != nil || p.now() != tt.at || p.unread != tt.left {
			t.Errorf("%s: at %d, %d unread, %v; want %d, %d", name, p.now(), p.unread, err, tt.at, tt.left)
		}
	}
}

// notesRig makes the notes of leaders on a real server.
func notesRig(t *testing.T) func(number uint64, clock *time.Time) *onceNotes {
	nats, key := testnats.Start(t, testnats.Options{}), filepath.Join(t.TempDir(), "key")
	must(t, cluster.NewKey(key))
	c, err := cluster.Open(t.Context(), cluster.Options{Servers: nats.URLs(), Member: "a",
		KeyFile: key, Replicas: 1,
		PublicationsBytes: 1 << 20, ReturnsBytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return func(number uint64, clock *time.Time) *onceNotes {
		fence, err := c.Leases().Fence(t.Context(), cluster.Token{Name: leaseName, Number: number})
		must(t, err)
		o := &onceNotes{now: func() time.Time { return *clock }, hold: testHold}
		must(t, o.load(fence))
		return o
	}
}

// TestScheduledJobsOverATakeover changes the leader right after a job: the next leader, whose clock
// differs by up to two minutes, does not run it again, and runs the next one.
func TestScheduledJobsOverATakeover(t *testing.T) {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	lead := notesRig(t)
	number := uint64(0)
	for name, skew := range map[string]time.Duration{"equal": 0, "ahead": 2 * time.Minute,
		"behind": -2 * time.Minute} {
		hourly := schedule.Call{Name: "hourly " + name, Raw: data.NewMap("hours", int64(1))}
		cron := schedule.Call{Name: "cron " + name, Raw: data.NewMap("cron", "0 * * * *")}
		step := func(o *onceNotes, clock *time.Time, at time.Time, c schedule.Call, want bool) {
			t.Helper()
			*clock, c.Due = at, at.Truncate(time.Hour)
			if got, err := o.begin(t.Context(), c); got != want || err != nil {
				t.Errorf("%s: %s at %s: %v, %v, want %v", name, c.Name, at.Format(time.TimeOnly), got, err, want)
			}
		}
		var first, second time.Time
		number++
		a := lead(number, &first)
		for _, c := range []schedule.Call{hourly, cron} {
			step(a, &first, noon.Add(time.Second), c, true)
		}
		number++
		b := lead(number, &second)
		for _, c := range []schedule.Call{hourly, cron} {
			// when the clock of the next leader is at noon, or beyond
			step(b, &second, noon.Add(max(time.Second, 10*time.Second+skew)), c, false)
		}
		step(b, &second, noon.Add(time.Hour+time.Second), cron, true)
		step(b, &second, noon.Add(time.Hour+3*time.Minute), hourly, true)
		first = noon.Add(2 * time.Hour)
		late := cron
		late.Due = first
		if ran, err := a.begin(t.Context(), late); ran || !errors.Is(err, cluster.ErrStale) {
			t.Errorf("%s: the earlier leader: %v, %v", name, ran, err)
		}
		if ran, err := a.begin(t.Context(), late); ran || !errors.Is(err, cluster.ErrStale) {
			t.Errorf("%s: the earlier leader once more: %v, %v", name, ran, err)
		}
	}
}

// TestClockOfALeaderThatWasWrong has a leader whose clock is a year ahead run a job: the next one does
// not wait for a year.
func TestClockOfALeaderThatWasWrong(t *testing.T) {
	lead := notesRig(t)
	now := time.Now()
	wrong := now.AddDate(1, 0, 0)
	c := schedule.Call{Name: "tick", Raw: data.NewMap("minutes", int64(5)), Due: wrong}
	if ran, err := lead(1, &wrong).begin(t.Context(), c); !ran || err != nil {
		t.Fatalf("%v, %v", ran, err)
	}
	c.Due = now
	if ran, err := lead(2, &now).begin(t.Context(), c); !ran || err != nil {
		t.Errorf("under the right clock: %v, %v", ran, err)
	}
}

// TestShortIntervalAfterAWrongClock has a leader whose clock is two minutes ahead run a job of each few
// seconds: the next leader does not wait until then, and keeps the interval.
func TestShortIntervalAfterAWrongClock(t *testing.T) {
	lead := notesRig(t)
	now := time.Now()
	wrong := now.Add(2 * time.Minute)
	c := schedule.Call{Name: "tick", Raw: data.NewMap("seconds", int64(10)), Due: wrong}
	if ran, err := lead(1, &wrong).begin(t.Context(), c); !ran || err != nil {
		t.Fatalf("%v, %v", ran, err)
	}
	next := lead(2, &now)
	for i, want := range []bool{true, false, true} { // each five seconds
		c.Due = now
		if ran, err := next.begin(t.Context(), c); ran != want || err != nil {
			t.Errorf("under the right clock, time %d: %v, %v, want %v", i, ran, err, want)
		}
		now = now.Add(5 * time.Second)
	}
}

package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/job"
)

// A fleet is a Host whose minions live in a bubble of synctest.
type fleet struct {
	minions map[string]minion
	returns chan Return

	mu      sync.Mutex
	away    []string // said to have no connection
	jobs    int
	working map[string]bool
	most    int // at work at one time
}

type minion struct {
	ping time.Duration // until it answers; never when negative
	work time.Duration
	code int
	mute bool // does not say whether it works
}

func newFleet(minions map[string]minion) *fleet {
	return &fleet{minions: minions, returns: make(chan Return, 1000), working: map[string]bool{}}
}

func (f *fleet) Publish(_ context.Context, o Order) (Sent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs++
	sent := Sent{Job: job.ID(fmt.Sprintf("%020d", f.jobs))}
	for id, m := range f.minions {
		if targets, ok := o.Target.([]any); ok && !slices.Contains(targets, any(id)) {
			continue
		}
		sent.Minions = append(sent.Minions, id)
		go f.do(sent.Job, id, m, o)
	}
	slices.Sort(sent.Minions)
	sent.Away = f.away
	if len(sent.Minions) == 0 {
		return sent, ErrNobody
	}
	return sent, nil
}

func (f *fleet) do(id job.ID, name string, m minion, o Order) {
	switch {
	case o.Main:
		f.begin(name)
		if m.work < 0 {
			return
		}
		time.Sleep(m.work)
		f.end(name)
		f.returns <- Return{Job: id, Minion: name, Retcode: m.code}
	case o.Fun == "test.ping" && m.ping >= 0:
		time.Sleep(m.ping)
		f.returns <- Return{Job: id, Minion: name}
	case o.Fun == "saltutil.find_job" && !m.mute:
		f.mu.Lock()
		running := f.working[name]
		f.mu.Unlock()
		f.returns <- Return{Job: id, Minion: name, Running: running}
	}
}

func (f *fleet) begin(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working[name] = true
	f.most = max(f.most, len(f.working))
}

func (f *fleet) end(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.working, name)
}

func (f *fleet) Next(ctx context.Context) (Return, error) {
	select {
	case r := <-f.returns:
		return r, nil
	case <-ctx.Done():
		return Return{}, ctx.Err()
	}
}

// A diary is an Observer that writes down what it is told.
type diary struct {
	lines []string
	full  error // what Starting returns
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
func (d *diary) Down(ids []string) { d.note("down %s", strings.Join(ids, " ")) }
func (d *diary) Starting(ids []string) error {
	d.note("start %s", strings.Join(ids, " "))
	return d.full
}
func (d *diary) Answered(r Return) { d.note("%s %d", r.Minion, r.Retcode) }
func (d *diary) Silent(id string)  { d.note("%s silent", id) }

// play runs a batch of two at a time and returns what was noted.
func play(t *testing.T, f *fleet, change func(*Plan)) (*diary, *Engine, time.Duration) {
	t.Helper()
	plan := Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second, Gather: 2 * time.Second}
	if change != nil {
		change(&plan)
	}
	d := &diary{}
	e := NewEngine(Options{Plan: plan, Host: f, Observer: d})
	began := time.Now()
	if err := e.Gather(t.Context(), "*", "glob"); err != nil {
		t.Fatal(err)
	}
	if err := e.Work(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return d, e, time.Since(began)
}

func TestEngineKeepsTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {work: 3 * time.Second}, "b": {work: time.Second},
			"c": {work: time.Second, code: 1}})
		d, _, took := play(t, f, nil)
		expect(t, "diary", d.lines, []string{"down", "start a b", "b 0", "start c", "c 1", "a 0"})
		if f.most != 2 || took != 3*time.Second {
			t.Errorf("at most %d at work, in %v; want 2 in 3s", f.most, took)
		}
	})
}

func TestEngineGathersMinions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {}, "b": {ping: -1}, "c": {ping: -1, mute: true}})
		d, _, took := play(t, f, nil)
		// b says that it does not run the ping, c says nothing: neither gets the job, as in Salt.
		expect(t, "diary", d.lines, []string{"down b c", "start a", "a 0"})
		if took != 7*time.Second {
			t.Errorf("took %v, want the timeout and the wait for answers to the question", took)
		}
	})
}

func TestEngineTakesLatePings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {work: 20 * time.Second}, "b": {ping: 10 * time.Second}})
		d, _, _ := play(t, f, nil)
		expect(t, "diary", d.lines, []string{"down b", "start a", "start b", "b 0", "a 0"})
	})
}

// A minion that the target does not name gets nothing, though it answers the ping, whose id
// everybody may see.
func TestEngineTakesNoStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {work: 10 * time.Second}})
		go func() {
			time.Sleep(time.Second)
			f.returns <- Return{Job: "00000000000000000001", Minion: "stranger", Retcode: 1} // the ping
			f.returns <- Return{Job: "00000000000000000002", Minion: "stranger", Retcode: 1} // the job
		}()
		d, e, _ := play(t, f, func(p *Plan) { p.Failhard = true })
		expect(t, "diary", d.lines, []string{"down", "start a", "a 0"})
		if e.Run().Stopped() {
			t.Error("a stranger ended the batch")
		}
	})
}

func TestEngineWaitsForWorkingMinions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"long": {work: time.Minute},
			"dead": {work: -1, mute: true}, "next": {}})
		d, e, took := play(t, f, nil)
		expect(t, "diary", d.lines, []string{"down", "start dead long", "dead silent", "start next",
			"next 0", "long 0"})
		expect(t, "silent", e.Run().Ended(Silent), []string{"dead"})
		if took != time.Minute {
			t.Errorf("took %v, want as long as the longest job", took)
		}
	})
}

func TestEngineWithFailhardDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {code: 2}, "b": {work: time.Hour}, "c": {}})
		d, e, took := play(t, f, func(p *Plan) { p.Failhard = true })
		expect(t, "diary", d.lines, []string{"down", "start a b", "a 2"})
		expect(t, "never started", e.Run().Waiting(), []string{"c"})
		if took != 0 {
			t.Errorf("took %v", took)
		}
		if err := e.Work(t.Context(), true); err != nil { // the master waits for those at work
			t.Fatal(err)
		}
		expect(t, "diary after draining", d.lines, []string{"down", "start a b", "a 2", "b 0"})
	})
}

func TestEngineKeepsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {}, "b": {}, "c": {}})
		_, _, took := play(t, f, func(p *Plan) { p.Size.Number, p.Wait = 1, 10*time.Second })
		if took != 20*time.Second {
			t.Errorf("took %v, want two pauses of 10s", took)
		}
	})
}

func TestEngineStopsWhenAStartCannotBeNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {}})
		d := &diary{full: errors.New("disk is full")}
		e := NewEngine(Options{Plan: Plan{Size: Size{Number: 1}, Timeout: time.Second}, Host: f, Observer: d})
		if err := e.Gather(t.Context(), "*", "glob"); err != nil {
			t.Fatal(err)
		}
		if err := e.Work(t.Context(), false); !errors.Is(err, d.full) {
			t.Errorf("error %v, want %v", err, d.full)
		}
		if f.jobs != 1 {
			t.Errorf("%d jobs were published, want the ping alone", f.jobs)
		}
	})
}

// A refusing observer stops the batch at its second step.
type refusing struct {
	diary
	steps int
}

func (r *refusing) Starting(ids []string) error {
	if r.steps++; r.steps == 2 {
		r.full = fmt.Errorf("%w: not allowed", ErrStop)
	}
	return r.diary.Starting(ids)
}

func TestRefusedEngineWaitsForWorkingMinions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {}, "b": {work: 3 * time.Second}, "c": {}, "d": {}})
		r := &refusing{}
		e := NewEngine(Options{Plan: Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second}, Host: f,
			Observer: r})
		if err := e.Gather(t.Context(), "*", "glob"); err != nil {
			t.Fatal(err)
		}
		if err := e.Work(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		expect(t, "diary", r.lines, []string{"down", "start a b", "a 0", "start c", "b 0"})
		expect(t, "waiting", e.Run().Waiting(), []string{"c", "d"})
		if f.jobs != 2 || !e.Run().Stopped() {
			t.Errorf("%d jobs were published, want the ping and one step; stopped: %v", f.jobs,
				e.Run().Stopped())
		}
	})
}

func TestResumedEngineStartsNoMinionTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(map[string]minion{"a": {}, "b": {work: -1, mute: true}, "c": {}})
		r := NewRun(Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second, Gather: 2 * time.Second},
			[]string{"a", "b", "c"})
		r.Start(time.Now())
		d := &diary{}
		e := Resume(Options{Host: f, Observer: d}, r, "20260501120000000000")
		f.returns <- Return{Job: "20260501120000000000", Minion: "a"}
		if err := e.Work(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		expect(t, "diary", d.lines, []string{"a 0", "start c", "c 0", "b silent"})
	})
}

func TestEngineEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		e := NewEngine(Options{Plan: Plan{Size: Size{Number: 1}, Timeout: time.Hour},
			Host: newFleet(map[string]minion{"a": {ping: -1}}), Observer: &diary{}})
		if err := e.Gather(ctx, "*", "glob"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestEngineWithoutMinions(t *testing.T) {
	e := NewEngine(Options{Plan: Plan{Size: Size{Number: 1}}, Host: newFleet(nil), Observer: &diary{}})
	if err := e.Gather(t.Context(), "*", "glob"); !errors.Is(err, ErrNobody) {
		t.Errorf("error %v", err)
	}
}

// TestBatchDoesNotWaitForThoseWithoutAConnection checks that the ping waits for the others alone,
// and that who answers all the same is taken in.
func TestBatchDoesNotWaitForThoseWithoutAConnection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		minions map[string]minion
		took    time.Duration
		here    string
	}{
		{"one is away", map[string]minion{"a": {ping: time.Second}, "b": {ping: -1, mute: true}},
			time.Second, "a"},
		{"all are", map[string]minion{"b": {ping: -1, mute: true}}, 0, ""},
		{"it answers", map[string]minion{"a": {ping: 2 * time.Second}, "b": {ping: time.Second}},
			2 * time.Second, "a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(tt.minions)
				f.away = []string{"b"}
				e := NewEngine(Options{Plan: Plan{Size: Size{Number: 1}, Timeout: 5 * time.Second,
					Gather: 10 * time.Second}, Host: f, Observer: &diary{}})
				begun := time.Now()
				if err := e.Gather(t.Context(), "*", "glob"); err != nil {
					t.Fatal(err)
				}
				if here, took := strings.Join(e.Run().Waiting(), " "),
					time.Since(begun); here != tt.here || took != tt.took {
					t.Errorf("%q are there after %s, want %q after %s", here, took, tt.here, tt.took)
				}
			})
		})
	}
}

// A recorder is a fleet whose returns may be lost on their way, and are in a record.
type recorder struct {
	*fleet
	slow time.Duration // how long it takes to publish a question
	lost func(r Return) bool
	kept []Return
}

func (c *recorder) Publish(ctx context.Context, o Order) (Sent, error) {
	if o.Fun == "saltutil.find_job" {
		time.Sleep(c.slow)
	}
	return c.fleet.Publish(ctx, o)
}

func (c *recorder) Next(ctx context.Context) (Return, error) {
	r, err := c.fleet.Next(ctx)
	if err != nil {
		return r, err
	}
	c.kept = append(c.kept, r)
	if c.lost != nil && c.lost(r) {
		return Return{}, ErrGap
	}
	return r, nil
}

func (c *recorder) Recorded(_ context.Context, id job.ID, minions []string) ([]Return, error) {
	var found []Return
	for _, r := range c.kept {
		if r.Job == id && (minions == nil || slices.Contains(minions, r.Minion)) {
			found = append(found, r)
		}
	}
	return found, nil
}

// TestEngineReadsWhatItMissed loses returns: to the ping, to the job, and to the question whether a minion
// works. All are in the record, so nobody is called silent, and each return counts once.
func TestEngineReadsWhatItMissed(t *testing.T) {
	first := func() func(Return) bool {
		seen := map[job.ID]bool{}
		return func(r Return) bool {
			defer func() { seen[r.Job] = true }()
			return !seen[r.Job]
		}
	}
	for name, tt := range map[string]struct {
		minions map[string]minion
		lost    func(Return) bool
		want    []string
	}{
		"all": {map[string]minion{"a": {}, "b": {work: 20 * time.Second}}, func(Return) bool { return true },
			[]string{"down", "start a b", "a 0", "b 0"}},
		"the first of each job": {map[string]minion{"a": {}, "b": {work: 20 * time.Second}}, first(),
			[]string{"down", "start a b", "a 0", "b 0"}},
		"a late answer to the ping": {map[string]minion{"a": {work: 20 * time.Second}, "b": {ping: 10 * time.Second}},
			func(r Return) bool { return r.Minion == "b" },
			[]string{"down b", "start a", "start b", "b 0", "a 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d := &recorder{fleet: newFleet(tt.minions), lost: tt.lost}, &diary{}
				e := NewEngine(Options{Plan: Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second,
					Gather: 2 * time.Second}, Host: c, Observer: d})
				if err := errors.Join(e.Gather(t.Context(), "*", "glob"), e.Work(t.Context(), true)); err != nil {
					t.Fatal(err)
				}
				expect(t, "diary", d.lines, tt.want)
			})
		})
	}
}

// TestEngineLooksIntoTheRecordBeforeItGivesUp has a return of which nothing came, not even a gap.
func TestEngineLooksIntoTheRecordBeforeItGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := &recorder{fleet: newFleet(map[string]minion{"a": {work: -1, mute: true}, "b": {work: -1, mute: true}})}, &diary{}
		e := NewEngine(Options{Plan: Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second,
			Gather: 2 * time.Second}, Host: c, Observer: d})
		if err := e.Gather(t.Context(), "*", "glob"); err != nil {
			t.Fatal(err)
		}
		c.kept = append(c.kept, Return{Job: "00000000000000000002", Minion: "a", Retcode: 2})
		if err := e.Work(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		slices.Sort(d.lines[2:])
		expect(t, "diary", d.lines, []string{"down", "start a b", "a 2", "b silent"})
	})
}

// TestMinionsHaveTimeToAnswerTheQuestion publishes questions slower than the time for their answers.
func TestMinionsHaveTimeToAnswerTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := &recorder{fleet: newFleet(map[string]minion{"a": {work: time.Minute}}), slow: 15 * time.Second}, &diary{}
		e := NewEngine(Options{Plan: Plan{Size: Size{Number: 1}, Timeout: 5 * time.Second,
			Gather: 2 * time.Second}, Host: slowAnswers{c}, Observer: d})
		if err := errors.Join(e.Gather(t.Context(), "*", "glob"), e.Work(t.Context(), true)); err != nil {
			t.Fatal(err)
		}
		expect(t, "diary", d.lines, []string{"down", "start a", "a 0"})
	})
}

// slowAnswers has no record, and gives no return once the time for it is over.
type slowAnswers struct{ c *recorder }

func (s slowAnswers) Publish(ctx context.Context, o Order) (Sent, error) { return s.c.Publish(ctx, o) }

func (s slowAnswers) Next(ctx context.Context) (Return, error) {
	if err := ctx.Err(); err != nil {
		return Return{}, err
	}
	return s.c.fleet.Next(ctx)
}

// TestResumedEngineHeedsAFailureFirst resumes a run with failhard, of which a minion has failed meanwhile:
// none starts.
func TestResumedEngineHeedsAFailureFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recorder{fleet: newFleet(map[string]minion{"a": {}, "b": {}, "c": {}})}
		r := NewRun(Plan{Size: Size{Number: 2}, Timeout: 5 * time.Second, Failhard: true}, []string{"a"})
		r.Start(time.Now())
		r.Add("b", "c") // the pause of a place is not recorded
		id := job.ID("20260501120000000000")
		c.kept = []Return{{Job: id, Minion: "a", Retcode: 1}}
		d := &diary{}
		e := Resume(Options{Host: c, Observer: d}, r, id)
		if err := errors.Join(e.CatchUp(t.Context()), e.Work(t.Context(), true)); err != nil {
			t.Fatal(err)
		}
		expect(t, "diary", d.lines, []string{"a 1"})
	})
}

package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// ErrNobody is wrapped by [Host.Publish] for a target without minions.
var ErrNobody = errors.New("no minions matched the target")

// ErrStop is returned by [Host.Next], and wrapped by [Observer.Starting], if no further minion is
// to start.
var ErrStop = errors.New("the batch was stopped")

// A Host publishes jobs for an engine and delivers the returns.
type Host interface {
	// Publish sends an order to minions, and returns once the master has accepted it.
	Publish(ctx context.Context, o Order) (Sent, error)
	// Next waits for the next return of a published job. ErrStop stops the batch.
	Next(ctx context.Context) (Return, error)
}

// An Order is a publication of a batch. With Main it is the batch's own job, whose function and
// arguments the host knows.
type Order struct {
	Main   bool
	Target any // text or []any
	Kind   string
	Fun    string // for orders that are not Main
	Arg    []any
}

// Sent is the master's reply to an order.
type Sent struct {
	Job     job.ID
	Minions []string
	// those of Minions that are certainly not connected: a ping does not wait for them
	Away []string
	// Further is how long minions that are not in Minions may answer a ping: they are behind syndics.
	Further time.Duration
}

// An Observer gets the events of a batch, in order, from the goroutine that runs the engine.
type Observer interface {
	Down(ids []string) // minions that did not answer the ping and get no job
	// Starting is called before minions get the job. An error ends the batch first. If it wraps
	// ErrStop the batch is stopped, and minions at work are waited for.
	Starting(ids []string) error
	Answered(r Return)
	Silent(id string) // a minion got the job and has not answered
}

// Options configure an engine.
type Options struct {
	Plan     Plan
	Host     Host
	Observer Observer
}

// An Engine drives one batch. Use NewEngine or Resume.
type Engine struct {
	Options
	run   *Run
	watch map[string]*watch // minions from which an answer is expected
	jobs  map[job.ID]kind   // published jobs and their purpose
	named map[string]bool   // minions of the target; others are ignored
	more  time.Time         // until then further minions may answer the ping, and become named
}

// A kind is the purpose of a job.
type kind int

const (
	ping kind = iota
	main
	question
)

// A watch is the wait for one minion.
type watch struct {
	job   job.ID
	until time.Time
	// it was asked whether it still works, and until is the end of the wait for that answer
	asked bool
}

// NewEngine returns an engine for a new batch.
func NewEngine(o Options) *Engine {
	return &Engine{Options: o, watch: map[string]*watch{}, jobs: map[job.ID]kind{},
		named: map[string]bool{}}
}

// Resume returns an engine that continues a run whose job has the given id. Minions that were at
// work are waited for, and do not get the job again.
func Resume(o Options, r *Run, id job.ID) *Engine {
	o.Plan = r.plan
	e := NewEngine(o)
	e.run = r
	e.expect(id, main, r.Active())
	return e
}

// Run returns the progress of the batch; nil before the minions have answered the ping.
func (e *Engine) Run() *Run { return e.run }

// Gather pings the target and makes the run from the minions that answer. The error wraps ErrNobody
// if the target names no minion. It must not be called on a resumed engine.
func (e *Engine) Gather(ctx context.Context, target any, kind string) error {
	sent, err := e.Host.Publish(ctx, Order{Target: target, Kind: kind, Fun: "test.ping"})
	if err != nil {
		return err
	}
	e.expect(sent.Job, ping, sent.Minions)
	for _, id := range sent.Minions {
		e.named[id] = true
	}
	for _, id := range sent.Away {
		delete(e.watch, id)
	}
	ids := slices.Clone(sent.Minions)
	if sent.Further > 0 {
		e.jobs[sent.Job], e.more = ping, time.Now().Add(sent.Further)
	}
	found := map[string]bool{}
	for len(e.watch) > 0 || time.Now().Before(e.more) {
		r, ok, err := e.next(ctx)
		if err != nil {
			return err
		}
		if ok && !e.named[r.Minion] && sent.Further > 0 {
			e.named[r.Minion] = true
			ids = append(ids, r.Minion)
		}
		if ok && e.named[r.Minion] {
			found[r.Minion] = true
			delete(e.watch, r.Minion)
		}
	}
	here, down := split(ids, found)
	e.run = NewRun(e.Plan, here)
	e.Observer.Down(down)
	return nil
}

// split divides ids into those found and the others.
func split(ids []string, found map[string]bool) (in, out []string) {
	for _, id := range ids {
		if found[id] {
			in = append(in, id)
		} else {
			out = append(out, id)
		}
	}
	return in, out
}

// Work starts minions as slots become free, until all have ended or the batch is stopped. After a
// stop it waits for minions at work only if drain is set.
func (e *Engine) Work(ctx context.Context, drain bool) error {
	for !e.over(drain) {
		if ids := e.run.Start(time.Now()); len(ids) > 0 {
			if err := e.start(ctx, ids); err != nil {
				return err
			}
		}
		r, ok, err := e.next(ctx)
		if err != nil {
			return err
		}
		if ok {
			e.take(r)
		}
	}
	return nil
}

func (e *Engine) over(drain bool) bool {
	return e.run.Over() || e.run.Stopped() && !drain
}

// start sends the job to minions.
func (e *Engine) start(ctx context.Context, ids []string) error {
	switch err := e.Observer.Starting(ids); {
	case errors.Is(err, ErrStop):
		e.run.Withdraw(ids)
		e.run.Stop()
		return nil
	case err != nil:
		return err
	}
	sent, err := e.Host.Publish(ctx, Order{Main: true, Target: data.Values(ids), Kind: "list"})
	if err != nil && !errors.Is(err, ErrNobody) {
		return err
	}
	e.expect(sent.Job, main, sent.Minions)
	for _, id := range ids { // whose key was deleted meanwhile
		if !slices.Contains(sent.Minions, id) {
			e.silent(id)
		}
	}
	return nil
}

// expect records that minions should answer a job.
func (e *Engine) expect(id job.ID, k kind, minions []string) {
	if len(minions) == 0 {
		return
	}
	e.jobs[id] = k
	until := time.Now().Add(e.Plan.Timeout)
	for _, m := range minions {
		e.watch[m] = &watch{job: id, until: until}
	}
}

// next waits for a return of the ping or of the batch's job. ok is false if something else
// happened: a timeout, or a late minion's answer.
func (e *Engine) next(ctx context.Context) (r Return, ok bool, err error) {
	wait, cancel := e.deadline(ctx)
	defer cancel()
	r, err = e.Host.Next(wait)
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return r, false, e.late(ctx, time.Now())
	case errors.Is(err, ErrStop) && e.run != nil:
		e.run.Stop()
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	k, ours := e.jobs[r.Job]
	if ours && k == question {
		e.answer(r)
	}
	return r, ours && k != question, nil
}

// deadline returns ctx with the time of the next action if no minion answers.
func (e *Engine) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	var first time.Time
	if e.run != nil {
		first, _ = e.run.Wake()
	}
	for _, w := range e.watch {
		if first.IsZero() || w.until.Before(first) {
			first = w.until
		}
	}
	if e.run == nil && !e.more.IsZero() && (first.IsZero() || e.more.Before(first)) && time.Now().Before(e.more) {
		first = e.more
	}
	if first.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, first)
}

// take handles a late answer to the ping, or a return of the batch's job.
func (e *Engine) take(r Return) {
	if e.jobs[r.Job] == ping {
		if e.named[r.Minion] {
			e.run.Add(r.Minion)
		}
		return
	}
	how := Answered
	if r.Retcode != 0 {
		how = Failed
	}
	if e.run.End(r.Minion, how, time.Now()) {
		delete(e.watch, r.Minion)
		e.Observer.Answered(r)
	}
}

// answer handles the answer of a late minion to whether it works.
func (e *Engine) answer(r Return) {
	if w, waiting := e.watch[r.Minion]; waiting && w.asked && r.Running {
		*w = watch{job: w.job, until: time.Now().Add(e.Plan.Timeout)}
	}
}

// late asks the minions whose time is over whether they still work, and gives up on those that were
// asked before.
func (e *Engine) late(ctx context.Context, now time.Time) error {
	ask := map[job.ID][]string{}
	for id, w := range e.watch {
		switch {
		case w.until.After(now):
		case w.asked:
			e.drop(id)
		default:
			w.asked, w.until = true, now.Add(e.Plan.Gather)
			ask[w.job] = append(ask[w.job], id)
		}
	}
	for about, ids := range ask {
		if err := e.ask(ctx, about, ids); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) ask(ctx context.Context, about job.ID, ids []string) error {
	slices.Sort(ids)
	sent, err := e.Host.Publish(ctx,
		Order{Target: data.Values(ids), Kind: "list", Fun: "saltutil.find_job",
			Arg: []any{string(about)}})
	if err != nil && !errors.Is(err, ErrNobody) {
		return err
	}
	e.jobs[sent.Job] = question
	return nil
}

// drop ends the wait for a minion.
func (e *Engine) drop(id string) {
	k := e.jobs[e.watch[id].job]
	delete(e.watch, id)
	if k == main {
		e.silent(id)
	}
}

func (e *Engine) silent(id string) {
	if e.run.End(id, Silent, time.Now()) {
		e.Observer.Silent(id)
	}
}

package batch

import (
	"context"
	"errors"
	"maps"
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

// ErrGap is returned by [Host.Next] if returns may have been missed. The engine then reads those that a
// [Recorder] has.
var ErrGap = errors.New("returns were missed")

// A Host publishes jobs for an engine and delivers the returns.
type Host interface {
	// Publish sends an order to minions, and returns once the master has accepted it.
	Publish(ctx context.Context, o Order) (Sent, error)
	// Next waits for the next return of a published job. ErrStop stops the batch.
	Next(ctx context.Context) (Return, error)
}

// A Recorder is a host that can read returns whose events were missed. The engine asks it after a gap, and
// before it gives up on a minion.
type Recorder interface {
	// Recorded returns the recorded returns of minions to a published job; nil means all of them. An error
	// ends the batch.
	Recorded(ctx context.Context, id job.ID, minions []string) ([]Return, error)
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

	pinged job.ID   // the ping; "" on a resumed engine
	down   []string // minions that had not answered it when the run was made
	read   []Return // read from the record, and not handled yet
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
	asked    bool
	question job.ID // by which it was asked
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

// CatchUp takes the recorded returns of minions that were at work when the engine was resumed. It must be
// called before Work, which then starts no minion after a failure that ends the batch.
func (e *Engine) CatchUp(ctx context.Context) error {
	err := e.recall(ctx)
	for _, r := range e.read {
		e.take(r)
	}
	e.read = nil
	return err
}

// Withdraw puts minions that are not at work after all back to the front of those that wait.
func (e *Engine) Withdraw(ids []string) {
	e.run.Withdraw(ids)
	for _, id := range ids {
		delete(e.watch, id)
	}
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
	e.pinged = sent.Job
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
	e.run, e.down = NewRun(e.Plan, here), down
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
	if len(e.read) > 0 {
		r, e.read = e.read[0], e.read[1:]
		return e.sort(r)
	}
	wait, cancel := e.deadline(ctx)
	defer cancel()
	r, err = e.Host.Next(wait)
	switch {
	case errors.Is(err, ErrGap):
		return r, false, e.recall(ctx)
	case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return r, false, e.late(ctx, time.Now())
	case errors.Is(err, ErrStop) && e.run != nil:
		e.run.Stop()
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	return e.sort(r)
}

// sort handles the answer of a late minion. ok is true for other returns of the batch.
func (e *Engine) sort(r Return) (_ Return, ok bool, err error) {
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
	if w := e.watch[r.Minion]; w != nil && w.job == r.Job {
		delete(e.watch, r.Minion)
	}
	if e.run.End(r.Minion, how, time.Now()) {
		e.Observer.Answered(r)
	}
}

// answer handles the answer of a late minion to whether it works.
func (e *Engine) answer(r Return) {
	if w, waiting := e.watch[r.Minion]; waiting && w.asked && r.Running {
		*w = watch{job: w.job, until: time.Now().Add(e.Plan.Timeout)}
	}
}

// recall reads the recorded returns of all minions from which an answer is expected.
func (e *Engine) recall(ctx context.Context) error {
	back, err := e.recorded(ctx, slices.Collect(maps.Keys(e.watch)))
	e.read = append(e.read, back...)
	var others []string
	switch gathers := e.run == nil && !e.more.IsZero(); {
	case err != nil:
		return err
	case gathers: // minions that nobody has named yet may have answered
	case len(e.down) > 0:
		others = e.down
	default:
		return nil
	}
	back, err = e.fetch(ctx, e.pinged, others)
	e.read = append(e.read, back...)
	return err
}

// recorded reads the recorded returns of watched minions: to the job, and to the question whether they work.
func (e *Engine) recorded(ctx context.Context, ids []string) ([]Return, error) {
	to := map[job.ID][]string{}
	slices.Sort(ids)
	for _, id := range ids {
		w := e.watch[id]
		to[w.job] = append(to[w.job], id)
		if w.question != "" {
			to[w.question] = append(to[w.question], id)
		}
	}
	var all []Return
	for _, id := range slices.Sorted(maps.Keys(to)) {
		some, err := e.fetch(ctx, id, to[id])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// fetch returns the recorded returns that the host has, none if it has no record.
func (e *Engine) fetch(ctx context.Context, id job.ID, minions []string) ([]Return, error) {
	if r, ok := e.Host.(Recorder); ok && id != "" {
		return r.Recorded(ctx, id, minions)
	}
	return nil, nil
}

// late asks the minions whose time is over whether they still work, and gives up on those that were
// asked before.
func (e *Engine) late(ctx context.Context, now time.Time) error {
	questions, over := map[job.ID][]string{}, []string{}
	for id, w := range e.watch {
		switch {
		case w.until.After(now):
		case w.asked:
			over = append(over, id)
		default:
			questions[w.job] = append(questions[w.job], id)
		}
	}
	if err := e.giveUp(ctx, over); err != nil {
		return err
	}
	for about, ids := range questions {
		if err := e.ask(ctx, about, ids); err != nil {
			return err
		}
	}
	return nil
}

// giveUp ends the wait for minions that have not answered, unless the record has an answer.
func (e *Engine) giveUp(ctx context.Context, ids []string) error {
	back, err := e.recorded(ctx, ids)
	if err != nil {
		return err
	}
	answered := map[string]bool{}
	for _, r := range back {
		if w := e.watch[r.Minion]; w != nil && (r.Job == w.job || r.Running) {
			answered[r.Minion] = true
			e.read = append(e.read, r)
		}
	}
	for _, id := range ids {
		if !answered[id] {
			e.drop(id)
		}
	}
	return nil
}

// ask asks minions whether they still work. Their time for the answer begins when the question is sent.
func (e *Engine) ask(ctx context.Context, about job.ID, ids []string) error {
	slices.Sort(ids)
	sent, err := e.Host.Publish(ctx,
		Order{Target: data.Values(ids), Kind: "list", Fun: "saltutil.find_job",
			Arg: []any{string(about)}})
	if err != nil && !errors.Is(err, ErrNobody) {
		return err
	}
	e.jobs[sent.Job] = question
	until := time.Now().Add(e.Plan.Gather)
	for _, id := range ids {
		w := e.watch[id]
		w.asked, w.question, w.until = true, sent.Job, until
	}
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

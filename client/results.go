package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// A Result is the answer of one minion, or why there is none.
type Result struct {
	ID      string
	Value   any
	Out     string   // outputter that the function asks for; may be empty
	Retcode any      // a number, or one a function where several were called
	Notices []string // what the minion tells beside its answer, for people
	Missing bool     // the minion did not return
	Reason  Reason   // why, when Missing
	Why     string   // what the master says of that, for Undelivered
}

// A Reason says why a minion did not return.
type Reason int

// The reasons, as far as the events tell.
const (
	NoResponse   Reason = iota // it did not answer in time, and nothing is known of it
	NoKey                      // it was named but has no accepted key
	NotConnected               // it had no connection when the job was sent
	Queued                     // likewise, and the master keeps the job for it
	AtWork                     // it has said that it took the job, or that it runs it
	NotRunning                 // it has said that it does not run the job
	Undelivered                // the master has given up to bring the job to it
)

// A Wait says how long to wait for answers.
type Wait struct {
	Timeout    time.Duration // for a minion's answer (-t)
	Gather     time.Duration // for the answer whether a job runs (gather_job_timeout)
	ShowSilent bool          // yield minions that did not answer; those without a key always are
}

// Results yields the answers to a job as they come, and then the minions that did not return. It ends when all have
// answered, when nobody who is missing runs the job any more, or with ctx. After Timeout it asks those that have not
// answered whether they run the job, by a job of its own, and again as long as one of them says so
// (salt/client/__init__.py, get_iter_returns).
//
// Two things are better than in Salt: a minion that answers the question with an error counts as silent in place of
// being forgotten, and when the bus is lost, as by a restart of the master, it is joined again.
func (l *Local) Results(ctx context.Context, j *Job, w Wait) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		c := newCollector(l, j, w)
		if !c.collect(ctx, yield) {
			return
		}
		for _, r := range c.absent() {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// collector is one wait for answers.
type collector struct {
	l       *Local
	job     *Job
	wait    Wait
	found   map[string]bool
	known   map[string]bool      // expected
	named   []string             // expected, in the order in which they became known
	nobody  []string             // named without an accepted key, likewise
	open    map[string]time.Time // expected and silent, with the time until which each is waited for
	until   time.Time            // of the present round
	running bool                 // somebody runs the job, as far as is known
	asked   map[string]bool      // ids of the jobs that ask whether the job runs
	heard   map[string]Reason    // what minions have said of the job
	why     map[string]string    // why the master says that they missed it
}

func newCollector(l *Local, j *Job, w Wait) *collector {
	c := &collector{l: l, job: j, wait: w, running: true, found: map[string]bool{}, known: map[string]bool{}, open: map[string]time.Time{}, asked: map[string]bool{}, heard: map[string]Reason{}, why: map[string]string{}}
	c.until = time.Now().Add(w.Timeout)
	c.expect(j.Minions)
	for _, id := range j.Queued {
		delete(c.open, id) // nobody waits for it now
	}
	c.nobody = slices.Clone(j.Missing)
	return c
}

// expect adds minions to those that should answer.
func (c *collector) expect(ids []string) {
	until := time.Now().Add(c.wait.Timeout)
	for _, id := range ids {
		if c.known[id] {
			continue
		}
		c.known[id] = true
		c.named = append(c.named, id)
		if !c.found[id] {
			c.open[id] = until
		}
	}
}

// collect reads events until the wait is over, and reports whether the caller still wants results.
func (c *collector) collect(ctx context.Context, yield func(Result, error) bool) bool {
	for len(c.open) > 0 {
		event, err := c.next(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if c.over(ctx) {
				return true
			}
			continue
		case err != nil:
			yield(Result{}, err)
			return false
		}
		if !c.take(event, yield) {
			return false
		}
	}
	return true
}

// next returns the next event of the round. A bus that is lost is joined again, as long as the round lasts.
func (c *collector) next(ctx context.Context) (eventbus.Event, error) {
	ctx, cancel := context.WithDeadline(ctx, c.until)
	defer cancel()
	return c.l.next(ctx)
}

// rejoin is the pause between two attempts to find the bus again.
const rejoin = 100 * time.Millisecond

// over decides what to do when a round has ended: ask who runs the job, wait on, or stop.
func (c *collector) over(ctx context.Context) bool {
	now := time.Now()
	if c.running {
		c.running = false
		c.until = now.Add(c.wait.Gather)
		var nobody *NoMinionsError
		return errors.As(c.ask(ctx), &nobody)
	}
	for _, deadline := range c.open {
		if now.Before(deadline) {
			c.until = deadline
			return false
		}
	}
	return true
}

// ask sends the question whether the job runs to those that have not answered.
func (c *collector) ask(ctx context.Context) error {
	ids := make([]any, 0, len(c.open))
	for _, id := range c.named {
		if _, silent := c.open[id]; silent {
			ids = append(ids, id)
		}
	}
	question, err := c.l.Publish(ctx, Request{Target: ids, Kind: "list", Fun: "saltutil.find_job", Arg: []any{string(c.job.ID)},
		Kwargs: c.questionKwargs(), Timeout: c.wait.Gather})
	if err != nil {
		return err
	}
	c.asked[string(question.ID)] = true
	return nil
}

// questionKwargs returns the options of the job that its questions share.
func (c *collector) questionKwargs() *data.Map {
	kwargs := c.job.request.Kwargs.Clone()
	kwargs.Delete("show_timeout")
	kwargs.Delete("show_jid")
	kwargs.Delete("queue") // the question is for now
	return kwargs
}

// take handles one event, and reports whether the caller still wants results. Minions choose what stands in their returns: who is
// expected, and that the job failed, is believed of the events that the master alone fires.
func (c *collector) take(e eventbus.Event, yield func(Result, error) bool) bool {
	jid, what, _ := strings.Cut(strings.TrimPrefix(e.Tag, "salt/job/"), "/")
	about := jid == string(c.job.ID)
	id, isReturn := strings.CutPrefix(what, "ret/")
	if about && !isReturn {
		c.hear(what)
	}
	if !about && !(c.asked[jid] && isReturn) || !isReturn && what != "new" && what != "error" && !strings.HasPrefix(what, "missed/") {
		return true
	}
	v, err := payload.UnmarshalText(e.Data, payload.WireLimits())
	m, ok := v.(*data.Map)
	switch {
	case err != nil || !ok:
		return true
	case strings.HasPrefix(what, "missed/"):
		c.missed(strings.TrimPrefix(what, "missed/"), m.Text("reason"))
	case !isReturn:
		return c.news(m, yield)
	case m.Text("id") != id:
		return true
	case about:
		if r, ok := c.result(m); ok {
			return yield(r, nil)
		}
	default:
		c.answer(m)
	}
	return true
}

// hear reads from the rest of a tag that a minion has taken the job: ack/ID, or prog/ID/N.
func (c *collector) hear(what string) {
	id, taken := strings.CutPrefix(what, "ack/")
	if rest, works := strings.CutPrefix(what, "prog/"); works {
		id, _, taken = strings.Cut(rest, "/")
	}
	if taken && c.known[id] {
		c.heard[id] = AtWork
	}
}

// news reads what the master says of the job.
func (c *collector) news(m *data.Map, yield func(Result, error) bool) bool {
	if m.Has("error") {
		return yield(Result{}, ErrNotAuthorized)
	}
	if m.Has("minions") {
		c.expect(data.TextsOf(m.Value("minions")))
		c.nobody = appendNew(c.nobody, data.TextsOf(m.Value("missing")))
	}
	return true
}

func appendNew(to, ids []string) []string {
	for _, id := range ids {
		if !slices.Contains(to, id) {
			to = append(to, id)
		}
	}
	return to
}

// result reads a return; a second one of the same minion is passed over.
func (c *collector) result(m *data.Map) (Result, bool) {
	id := m.Text("id")
	if !m.Has("return") || c.found[id] {
		return Result{}, false
	}
	c.found[id] = true
	delete(c.open, id)
	return Result{ID: id, Value: m.Value("return"), Out: m.Text("out"), Retcode: m.Value("retcode"), Notices: job.Notices(m)}, true
}

// answer reads what a minion says to the question whether it runs the job.
func (c *collector) answer(m *data.Map) {
	id := m.Text("id")
	if _, waiting := c.open[id]; !waiting {
		return
	}
	if code, _ := m.Value("retcode").(int64); code > 0 {
		delete(c.open, id)
		return
	}
	state, ok := m.Value("return").(*data.Map)
	switch {
	case ok && state.Len() > 0:
		c.running = true
		c.heard[id] = AtWork
		c.open[id] = time.Now().Add(c.wait.Timeout)
	case ok && !c.unreached(id):
		c.heard[id] = NotRunning
	}
}

// missed reads that the master has given up to bring the job to a minion. Nobody waits for that then.
func (c *collector) missed(id, why string) {
	if c.known[id] && c.heard[id] != AtWork {
		c.heard[id], c.why[id] = Undelivered, why
		delete(c.open, id)
	}
}

// unreached reports whether a minion had no connection when the job was sent and has said nothing of it since: that it does not run
// the job is no news.
func (c *collector) unreached(id string) bool {
	return c.heard[id] == NoResponse && slices.Contains(c.job.Absent, id)
}

// absent returns those that did not return.
func (c *collector) absent() []Result {
	var out []Result
	for _, id := range c.named {
		if reason := c.reason(id); !c.found[id] && (c.wait.ShowSilent || reason == Queued) {
			out = append(out, Result{ID: id, Missing: true, Reason: reason, Why: c.why[id]})
		}
	}
	for _, id := range c.nobody {
		if !c.found[id] {
			out = append(out, Result{ID: id, Missing: true, Reason: NoKey})
		}
	}
	return out
}

// reason says why a minion that was expected has not returned. What it said itself counts more than that it had no
// connection.
func (c *collector) reason(id string) Reason {
	switch {
	case c.heard[id] != NoResponse:
		return c.heard[id]
	case slices.Contains(c.job.Queued, id):
		return Queued
	case slices.Contains(c.job.Absent, id):
		return NotConnected
	}
	return NoResponse
}

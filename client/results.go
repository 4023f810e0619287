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
)

// A Result is the return of one minion, or the reason why there is none.
type Result struct {
	ID      string
	Value   any
	Out     string   // outputter that the function requests; may be empty
	Retcode any      // a number, or one per function if several were called
	Notices []string // messages of the minion for the user
	Missing bool     // the minion did not return
	Reason  Reason   // why it did not, if Missing
	Below   bool     // it is behind a syndic: the master does not know whether it is connected
	Why     string   // the master's explanation, for Undelivered
}

// A Reason is why a minion did not return.
type Reason int

// The reasons, as far as they can be derived from events.
const (
	NoResponse   Reason = iota // it did not answer in time, and nothing else is known
	NoKey                      // the target names it, but it has no accepted key
	NotConnected               // it was not connected when the job was sent
	Queued                     // likewise, and the master has queued the job for it
	AtWork                     // it has acknowledged the job, or reported that it runs it
	NotRunning                 // it has reported that it does not run the job
	Undelivered                // the master could not deliver the job
)

// A Wait configures how long to wait for returns.
type Wait struct {
	Timeout    time.Duration // for a minion's return (-t)
	Gather     time.Duration // for the answer to whether a job runs (gather_job_timeout)
	ShowSilent bool          // yield minions that did not return; those without a key always are
	// Connected ends the wait for minions as soon as their master says that they are not connected. They are
	// yielded as silent ones at the end, unless they have returned meanwhile.
	Connected bool
	// Encoded leaves the values of Results as they came where that is possible: data.Raw, as data of the
	// event bus.
	Encoded bool
}

// Results yields the returns of a job as they arrive, and then the minions that did not return. It
// ends when all minions have returned, when no missing minion still runs the job, or with ctx. Returns
// whose events were missed are read from the record of a Brine master.
// After Timeout it publishes a job that asks the missing minions whether they run the job, and
// repeats that as long as one of them does (salt/client/__init__.py, get_iter_returns).
//
// Two differences from Salt: a minion that answers the question with an error counts as silent
// instead of being ignored, and a lost connection to the bus, as after a restart of the master, is
// restored.
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

// collector is one wait for the returns of a job.
type collector struct {
	l       *Local
	job     *Job
	wait    Wait
	found   map[string]bool      // minions that have returned
	known   map[string]bool      // minions that are expected to return
	named   []string             // the same, in the order in which they became known
	keyless []string             // minions without an accepted key, likewise
	open    map[string]time.Time // minions that have not returned, with the deadline of each
	until   time.Time            // end of the present round
	running bool                 // some minion runs the job, as far as is known
	asked   map[string]bool      // ids of find_job jobs
	heard   map[string]Reason    // last known state of minions in the job
	why     map[string]string    // the master's reasons for missed minions
	barred  map[string]bool      // syndics that may not pass the job on; a minion of that id may yet return
	away    map[string]bool      // minions in Job.Absent
	queued  map[string]bool      // minions in Job.Queued
	tiers   tiers                // what is known of the syndics of the master
}

func newCollector(l *Local, j *Job, w Wait) *collector {
	c := &collector{
		l:       l,
		job:     j,
		wait:    w,
		running: true,
		found:   map[string]bool{},
		known:   map[string]bool{},
		open:    map[string]time.Time{},
		asked:   map[string]bool{},
		heard:   map[string]Reason{},
		why:     map[string]string{},
		barred:  map[string]bool{},
		away:    setOf(j.Absent),
		queued:  setOf(j.Queued),
		tiers:   newTiers(l.opts.Tiers, j),
	}
	c.until = time.Now().Add(w.Timeout)
	c.expect(j.Minions)
	for _, id := range j.Queued {
		delete(c.open, id) // it is not waited for
	}
	c.keyless = slices.Clone(j.Missing)
	c.skipAway()
	return c
}

// skipAway ends the wait for minions that are not connected, if it is only for the others.
func (c *collector) skipAway() {
	if !c.wait.Connected {
		return
	}
	for id := range c.away {
		delete(c.open, id)
	}
}

// expect adds minions that should return.
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
	for len(c.open) > 0 || c.tiers.waits() {
		event, err := c.next(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			if !c.lookUp(ctx, yield) {
				return false
			}
			if c.endRound(ctx) {
				return true
			}
			continue
		case err != nil:
			yield(Result{}, err)
			return false
		}
		if !c.handle(ctx, event, yield) {
			return false
		}
	}
	return true
}

// next returns the next event until the round ends. It reconnects to the bus if the connection is
// lost.
func (c *collector) next(ctx context.Context) (eventbus.Event, error) {
	until := c.until
	if len(c.open) == 0 {
		until = c.tiers.until
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return c.l.next(ctx)
}

// reconnectPause is the pause between two attempts to connect to the bus.
const reconnectPause = 100 * time.Millisecond

// lookUp reads the returns that the master has recorded and whose events have not come: the client was
// too slow for them, or was not connected. It reports whether the caller wants further results.
func (c *collector) lookUp(ctx context.Context, yield func(Result, error) bool) bool {
	if len(c.open) == 0 || !c.job.Told { // Salt's master does not hand out returns
		return true
	}
	wanted, err := c.l.recorded(ctx, c.job.ID, c.silent(), func(_ string, load data.Raw) bool {
		m, ok := c.read(load, true)
		if !ok {
			return true
		}
		r, ok := c.result(m)
		return !ok || yield(r, nil)
	})
	if err != nil && !errors.Is(err, errNoRecords) && c.l.opts.Log != nil {
		c.l.opts.Log.Warnf("read the recorded returns to job %s: %v", c.job.ID, err)
	}
	return wanted
}

// silent returns the minions that have not returned, in the order in which they became known.
func (c *collector) silent() []string {
	ids := make([]string, 0, len(c.open))
	for _, id := range c.named {
		if _, silent := c.open[id]; silent {
			ids = append(ids, id)
		}
	}
	return ids
}

// endRound starts the next round or reports that the wait is over. After a round in which a minion
// ran the job it asks again.
func (c *collector) endRound(ctx context.Context) bool {
	now := time.Now()
	if len(c.open) == 0 {
		return !c.tiers.waits()
	}
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

// ask asks the minions that have not returned whether they run the job.
func (c *collector) ask(ctx context.Context) error {
	ids := data.Values(c.silent())
	question := Request{Target: ids, Kind: "list", Fun: "saltutil.find_job", Arg: []any{string(c.job.ID)},
		Kwargs: c.questionKwargs(), Timeout: c.wait.Gather}
	if isLong(ids) && c.job.request.Kind != question.Kind {
		question.Target, question.Kind = c.job.request.Target, c.job.request.Kind
	}
	asked, err := c.l.Publish(ctx, question)
	if err != nil {
		return err
	}
	c.asked[string(asked.ID)] = true
	return nil
}

// longList is how many bytes of ids a question may list. Each connected minion gets the list: with ten
// thousand minions, a list of all makes a gigabyte of traffic.
const longList = 16 << 10

// isLong reports whether a list of ids exceeds longList.
func isLong(ids []any) bool {
	n := 0
	for _, id := range ids {
		n += len(data.Str(id))
	}
	return n > longList
}

// questionKwargs returns the options of the job that also apply to find_job jobs.
func (c *collector) questionKwargs() *data.Map {
	kwargs := c.job.request.Kwargs.Clone()
	kwargs.Delete("show_timeout")
	kwargs.Delete("show_jid")
	kwargs.Delete("queue") // an answer is needed now
	return kwargs
}

// handle processes one event, and reports whether the caller wants further results. Minions choose
// the content of their returns, so the list of minions and the failure of the job are only taken
// from events that the master alone fires.
func (c *collector) handle(ctx context.Context, e eventbus.Event, yield func(Result, error) bool) bool {
	switch {
	case e.Tag == eventbus.DroppedTag:
		return c.lookUp(ctx, yield)
	case strings.HasPrefix(e.Tag, syndicPrefix):
		c.reports(e)
		return true
	}
	jid, what, _ := strings.Cut(strings.TrimPrefix(e.Tag, "salt/job/"), "/")
	about := jid == string(c.job.ID)
	id, isReturn := strings.CutPrefix(what, "ret/")
	if about && !isReturn {
		c.noteProgress(what)
	}
	if !about && !(c.asked[jid] && isReturn) ||
		!isReturn && what != "new" && what != "error" && !strings.HasPrefix(what, "missed/") {
		return true
	}
	m, ok := c.read(e.Data, about && isReturn)
	switch {
	case !ok:
		return true
	case strings.HasPrefix(what, "missed/"):
		c.missed(strings.TrimPrefix(what, "missed/"), m)
	case !isReturn:
		return c.jobEvent(m, yield)
	case m.Text("id") != id:
		return true
	case about:
		if r, ok := c.result(m); ok {
			r.Value = c.l.Whole(ctx, c.job.ID, r.ID, r.Value)
			return yield(r, nil)
		}
	default:
		c.answer(m)
	}
	return true
}

// noteProgress records from the tag ack/ID or prog/ID/N that a minion runs the job.
func (c *collector) noteProgress(what string) {
	id, taken := strings.CutPrefix(what, "ack/")
	if rest, works := strings.CutPrefix(what, "prog/"); works {
		id, _, taken = strings.Cut(rest, "/")
	}
	if taken && c.known[id] {
		c.heard[id] = AtWork
	}
}

// jobEvent handles an event of the master about the job.
func (c *collector) jobEvent(m *data.Map, yield func(Result, error) bool) bool {
	if m.Has("error") {
		return yield(Result{}, ErrNotAuthorized)
	}
	if m.Has("minions") {
		c.expect(data.TextsOf(m.Value("minions")))
		c.keyless = appendNew(c.keyless, data.TextsOf(m.Value("missing")))
	}
	return true
}

func appendNew(to, ids []string) []string {
	has := setOf(to)
	for _, id := range ids {
		if !has[id] {
			has[id] = true
			to = append(to, id)
		}
	}
	return to
}

// result decodes a return. Further returns of the same minion are ignored.
func (c *collector) result(m *data.Map) (Result, bool) {
	id := m.Text("id")
	if !m.Has("return") || c.found[id] {
		return Result{}, false
	}
	c.found[id] = true
	delete(c.open, id)
	return Result{
		ID:      id,
		Value:   m.Value("return"),
		Out:     m.Text("out"),
		Retcode: m.Value("retcode"),
		Notices: job.Notices(m),
	}, true
}

// answer handles the answer of a minion to whether it runs the job.
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

// missed records that the master could not deliver the job to a minion, which ends the wait for it, or
// that it takes nothing from those behind a syndic. That does not end the wait for a minion of its id.
func (c *collector) missed(id string, m *data.Map) {
	switch {
	case !c.known[id]:
	case m.Value("syndic") == true:
		c.barred[id], c.why[id] = true, m.Text("reason")
	case c.heard[id] != AtWork:
		c.heard[id], c.why[id] = Undelivered, m.Text("reason")
		delete(c.open, id)
	}
}

// unreached reports whether a minion was not connected when the job was sent, and has sent nothing
// about it. That it does not run the job is then no new information.
func (c *collector) unreached(id string) bool {
	return c.heard[id] == NoResponse && c.away[id]
}

// absent returns the results for minions that did not return.
func (c *collector) absent() []Result {
	var out []Result
	behind := c.job.behindAway()
	for _, id := range c.named {
		if reason := c.reason(id); !c.found[id] && (c.wait.ShowSilent || reason == Queued) {
			r := Result{ID: id, Missing: true, Reason: reason, Why: c.why[id], Below: c.tiers.below[id]}
			if syndic := behind[id]; syndic != "" && reason == NotConnected {
				r.Why = "It is behind syndic " + syndic + ", which is not connected."
			}
			out = append(out, r)
		}
	}
	for _, id := range c.keyless {
		if !c.found[id] {
			out = append(out, Result{ID: id, Missing: true, Reason: NoKey})
		}
	}
	if c.wait.ShowSilent {
		out = append(out, c.troubles()...)
	}
	return out
}

// reason returns why an expected minion has not returned. Its own messages take precedence over the
// state of its connection.
func (c *collector) reason(id string) Reason {
	switch {
	case c.barred[id] && c.heard[id] != AtWork:
		return Undelivered
	case c.heard[id] != NoResponse:
		return c.heard[id]
	case c.queued[id]:
		return Queued
	case c.away[id]:
		return NotConnected
	}
	return NoResponse
}

package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/payload"
)

// ErrNoBatches is returned by PublishBatch if the master runs no batches. Salt's does not; its
// clients drive batches themselves, see BatchHost.
var ErrNoBatches = errors.New("the master runs no batches")

// publishBatch is the command that starts a batch in a master that supports it.
const publishBatch = "publish_batch"

// PublishBatch starts a batch that runs within the master. Its options are in the request's Kwargs:
// batch, batch_wait, failhard, timeout and gather_job_timeout. The errors are those of Publish, and
// ErrNoBatches.
func (l *Local) PublishBatch(ctx context.Context, r Request) (*Job, error) {
	r.command = publishBatch
	return l.Publish(ctx, r)
}

// StopBatch stops a batch of the master: no further minions start. It reports whether the batch was
// running.
func (l *Local) StopBatch(ctx context.Context, r Request, id job.ID) (bool, error) {
	key, user, err := l.credentials()
	if err != nil {
		return false, err
	}
	r.command, r.JID = "stop_batch", string(id)
	reply, err := l.send(ctx, r, key, user)
	if err != nil {
		return false, err
	}
	m, _ := reply.(*data.Map)
	return data.Truth(m.Value("stopped")), replyError(m)
}

// A BatchEnd describes how a batch of the master ended.
type BatchEnd struct {
	NotStarted []string // minions that did not get the job, because the batch was stopped
	Done       []string // minions that answered
	Error      string   // why the batch ended early, or ""
}

// FollowBatch reports the progress of a batch of the master to o, until the batch has ended or
// enough returns true; the result is nil then. A lost connection to the bus, as after a restart of
// the master, is restored. Then, and after dropped events, the master is asked whether the batch still
// runs, and for the recorded returns. At the end, too, returns whose events were missed are read from the
// master's record, and the lists in the BatchEnd are complete. In a cluster the end can overtake the last
// returns, which are waited for.
func (l *Local) FollowBatch(
	ctx context.Context, j *Job, o batch.Observer, enough func() bool,
) (*BatchEnd, error) {
	f := &following{job: j.ID, minions: j.Minions, o: o, seen: map[string]bool{}, told: map[string]bool{}}
	for !enough() {
		end, err := l.follow(ctx, f)
		if err != nil {
			return nil, err
		}
		if end != nil {
			return end, l.late(ctx, f, end.Done)
		}
	}
	return nil, nil
}

// follow takes one event of a batch. If events may have been missed it asks the master for the state of the
// batch, again and again until the master answers.
func (l *Local) follow(ctx context.Context, f *following) (*BatchEnd, error) {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if f.gap {
		wait, cancel = context.WithDeadline(ctx, f.again)
	}
	defer cancel()
	if wait.Err() != nil && ctx.Err() == nil {
		return l.askState(ctx, f)
	}
	e, joined, err := l.nextOrJoin(wait)
	switch {
	case err != nil && f.gap && wait.Err() != nil && ctx.Err() == nil:
		return l.askState(ctx, f)
	case err != nil:
		return nil, err
	case joined, e.Tag == eventbus.DroppedTag:
		return l.askState(ctx, f)
	}
	return f.take(e)
}

// lateReturns is how long after the end of a batch its last returns may come.
const lateReturns = 5 * time.Second

// late gets the returns of minions that have not come: from the master's record, or, if they are not there
// yet, by their events. It does not wait for ever.
func (l *Local) late(ctx context.Context, f *following, minions []string) error {
	l.lookUp(ctx, f, minions)
	brief, cancel := context.WithTimeout(ctx, lateReturns)
	defer cancel()
	for len(f.lacks(minions)) > 0 {
		e, err := l.next(brief)
		if err == nil {
			_, err = f.take(e)
		}
		if err != nil && ctx.Err() == nil && brief.Err() != nil {
			l.lookUp(ctx, f, minions)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookUp reports the returns of minions that the master has recorded and that have not come.
func (l *Local) lookUp(ctx context.Context, f *following, minions []string) {
	lacking := f.lacks(minions)
	_, err := l.recorded(ctx, f.job, lacking, func(minion string, load data.Raw) bool {
		if r, ok := batch.ParseReturn(f.job, minion, load); ok {
			f.answered(r)
		}
		return true
	})
	if err != nil && l.opts.Log != nil {
		l.opts.Log.Warnf("read the recorded returns of %d minions to batch %s: %v", len(lacking), f.job, err)
	}
}

// A following is what is known of a batch that somebody follows.
type following struct {
	job     job.ID
	minions []string // of the target, as far as they were known at the start
	o       batch.Observer
	seen    map[string]bool // minions whose returns came
	told    map[string]bool // minions that were reported as down or silent
	gap     bool            // events may have been missed, and the master has not answered since
	again   time.Time       // when to ask it again
}

// lacks returns those minions whose returns have not come.
func (f *following) lacks(minions []string) []string {
	return slices.DeleteFunc(slices.Clone(minions), func(id string) bool { return f.seen[id] })
}

// answered reports a return to the observer. Its event may come after it was read from the record.
func (f *following) answered(r batch.Return) {
	if f.seen[r.Minion] {
		return
	}
	f.seen[r.Minion] = true
	f.o.Answered(r)
}

// take reports an event to the observer if it belongs to the batch, and returns the BatchEnd if it is
// the last one.
func (f *following) take(e eventbus.Event) (*BatchEnd, error) {
	if r, ok := batch.ReturnOf(e); ok && r.Job == f.job {
		f.answered(r)
		return nil, nil
	}
	what, ok := strings.CutPrefix(e.Tag, eventbus.Tagify("batch", string(f.job))+"/")
	if !ok || what == "" {
		return nil, nil
	}
	return f.event(what, e.Data)
}

// event reports one event of the batch to the observer, and returns the BatchEnd if it is the last one.
func (f *following) event(what string, raw data.Raw) (*BatchEnd, error) {
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, nil
	}
	switch what {
	case "start":
		f.down(data.TextsOf(m.Value("down_minions")))
	case "step":
		return nil, f.o.Starting(data.TextsOf(m.Value("minions")))
	case "silent":
		f.silent(m.Text("minion"))
	case "done":
		if isTrimmed(m) { // the master has the whole
			f.gap, f.again = true, time.Time{}
			return nil, nil
		}
		return f.end(m), nil
	}
	return nil, nil
}

// isTrimmed reports whether the event bus has cut a list of the event done, as it does with thousands of
// minions.
func isTrimmed(m *data.Map) bool {
	for _, name := range []string{"down_minions", "done_minions", "timedout_minions", "not_started"} {
		if _, cut := m.Value(name).(string); cut {
			return true
		}
	}
	return false
}

// end returns how the batch ended. It first reports the minions that were down or silent, if the events
// about them were missed.
func (f *following) end(m *data.Map) *BatchEnd {
	missed := func(id string) bool { return !f.told[id] && !f.seen[id] }
	if down := slices.DeleteFunc(data.TextsOf(m.Value("down_minions")),
		func(id string) bool { return !missed(id) }); len(down) > 0 {
		f.down(down)
	}
	for _, id := range data.TextsOf(m.Value("timedout_minions")) {
		if missed(id) {
			f.silent(id)
		}
	}
	return &BatchEnd{
		NotStarted: data.TextsOf(m.Value("not_started")),
		Done:       data.TextsOf(m.Value("done_minions")),
		Error:      m.Text("error"),
	}
}

func (f *following) down(ids []string) {
	for _, id := range ids {
		f.told[id] = true
	}
	f.o.Down(ids)
}

func (f *following) silent(id string) {
	f.told[id] = true
	f.o.Silent(id)
}

// next returns the next event of the bus. It reconnects if the connection is lost.
func (l *Local) next(ctx context.Context) (eventbus.Event, error) {
	for {
		if event, joined, err := l.nextOrJoin(ctx); !joined {
			return event, err
		}
	}
}

// nextOrJoin returns the next event of the bus. If the connection is lost it reconnects, and joined is true
// instead: events may have been missed.
func (l *Local) nextOrJoin(ctx context.Context) (event eventbus.Event, joined bool, err error) {
	event, err = l.events.Next(ctx)
	if !errors.Is(err, eventbus.ErrClosed) {
		return event, false, err
	}
	for l.listen(ctx) != nil {
		select {
		case <-ctx.Done():
			return eventbus.Event{}, false, ctx.Err()
		case <-time.After(reconnectPause):
		}
	}
	return eventbus.Event{}, true, nil
}

// BatchHost returns a host for an engine that runs the request as a batch, for masters that run no
// batches.
func (l *Local) BatchHost(r Request) batch.Host { return &batchHost{l, r} }

type batchHost struct {
	l *Local
	r Request
}

// Publish sends an order to minions.
func (h *batchHost) Publish(ctx context.Context, o batch.Order) (batch.Sent, error) {
	r := h.r
	r.Target, r.Kind = o.Target, o.Kind
	if !o.Main {
		r.Fun, r.Arg, r.Ret, r.Kwargs = o.Fun, o.Arg, "", quietKwargs(r.Kwargs)
	}
	j, err := h.l.Publish(ctx, r)
	var nobody *NoMinionsError
	if errors.As(err, &nobody) {
		return batch.Sent{}, batch.ErrNobody
	}
	if err != nil {
		return batch.Sent{}, err
	}
	return batch.Sent{Job: j.ID, Minions: j.Minions}, nil
}

// Next waits for the next return.
func (h *batchHost) Next(ctx context.Context) (batch.Return, error) {
	for {
		e, err := h.l.next(ctx)
		if err != nil {
			return batch.Return{}, err
		}
		if r, ok := batch.ReturnOf(e); ok {
			return r, nil
		}
	}
}

// quietKwargs returns kwargs without the options that apply to the batch's own job only.
func quietKwargs(kwargs *data.Map) *data.Map {
	kwargs = kwargs.Clone()
	for _, name := range []string{"show_timeout", "show_jid", "metadata", "ret_config",
		"ret_kwargs"} {
		kwargs.Delete(name)
	}
	return kwargs
}

// RunBatch runs a request as a batch and reports its progress to o, until it has ended or enough
// returns true. size is the option batch as the user wrote it. A Brine master runs the batch itself;
// with Salt's, this process drives it. The result names the minions of the target without an
// accepted key, as far as the master says so. Besides the errors of Publish there is one for a batch
// that ended early.
func (l *Local) RunBatch(
	ctx context.Context, r Request, size string, p batch.Plan, o batch.Observer, enough func() bool,
) (keyless []string, err error) {
	ordered := r
	ordered.Kwargs = data.NewMap()
	ordered.Kwargs.Update(r.Kwargs)
	ordered.Kwargs.Update(data.NewMap("batch", size, "batch_wait", p.Wait.Seconds(), "failhard", p.Failhard,
		"timeout", p.Timeout.Seconds(), "gather_job_timeout", p.Gather.Seconds()))
	j, err := l.PublishBatch(ctx, ordered)
	switch {
	case errors.Is(err, ErrNoBatches):
		return l.driveBatch(ctx, r, p, o, enough)
	case err != nil:
		return nil, err
	}
	end, err := l.FollowBatch(ctx, j, o, enough)
	if err == nil && end != nil && end.Error != "" {
		err = errors.New("batch " + string(j.ID) + ": " + end.Error)
	}
	return j.Missing, err
}

// driveBatch runs a batch from this process. Salt's master does not report which minions of a list
// have no accepted key, so the result has all of the list.
func (l *Local) driveBatch(
	ctx context.Context, r Request, p batch.Plan, o batch.Observer, enough func() bool,
) ([]string, error) {
	e := batch.NewEngine(batch.Options{Plan: p, Host: l.BatchHost(r), Observer: o})
	err := e.Gather(ctx, r.Target, r.Kind)
	if err == nil {
		err = e.Work(ctx, false)
	}
	switch {
	case errors.Is(err, batch.ErrNobody):
		return nil, &NoMinionsError{Text: NobodyMatched}
	case enough():
		return nil, nil
	case err != nil:
		return nil, err
	}
	return r.Named(), nil
}

// Named returns the minions that the target names: those of a list.
func (r Request) Named() []string {
	switch target := r.Target.(type) {
	case []any:
		return data.Texts(target)
	case string:
		if r.Kind == "list" {
			return strings.FieldsFunc(target, func(c rune) bool { return c == ',' || c == ' ' })
		}
	}
	return nil
}

package returners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// An Own is a returner of users' own code for a master: the functions of Salt's returners in a
// registry, under its name. Its calls belong to one job, which lasts until Close, so that the code
// can keep a connection. Several goroutines may use it.
type Own struct {
	name      string
	functions func() *loader.Registry
	log       logrus.FieldLogger

	begin sync.Once
	job   context.Context // carries scope
	scope *loader.Scope
}

// NewOwn returns the returner NAME, whose functions are in the registry that functions returns.
func NewOwn(name string, functions func() *loader.Registry, log logrus.FieldLogger) *Own {
	return &Own{name: name, functions: functions, log: log}
}

// Name returns the name of the returner.
func (o *Own) Name() string { return o.name }

// Close ends the job of the calls.
func (o *Own) Close() error {
	o.start()
	return o.scope.Close()
}

// start begins the job of the calls with the first of them.
func (o *Own) start() {
	o.begin.Do(func() { o.job, o.scope = loader.WithScope(context.Background()) })
}

// An inJob is a context of a call that belongs to a job which outlasts it.
type inJob struct {
	context.Context
	job context.Context
}

// Value returns the value of the job, or else of the call.
func (c inJob) Value(key any) any {
	if v := c.job.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// Has reports whether the returner has a function.
func (o *Own) Has(function string) bool { return o.functions().Has(o.name + "." + function) }

// Missing returns why a function of the returner is not available.
func (o *Own) Missing(function string) string {
	return o.functions().MissingText(o.name + "." + function)
}

// takes reports whether a function has a parameter.
func (o *Own) takes(function, parameter string) bool {
	f, ok := o.functions().Func(o.name + "." + function)
	return ok && (f.Spec().Takes(parameter) || f.Spec().Args != "")
}

// Call calls a function of the returner. The error has the traceback of an exception.
func (o *Own) Call(
	ctx context.Context, function string, args []any, kwargs *data.Map,
) (any, error) {
	o.start()
	v, err := o.functions().Invoke(inJob{ctx, o.job}, o.name+"."+function, args, kwargs)
	if err != nil {
		return nil, fmt.Errorf("function %s of %s: %s", function, o.name, loader.Traceback(err))
	}
	return v, nil
}

// Prepare passes the id of a job to prep_jid (salt/master.py, ClearFuncs._prep_jid). The id stays
// what it is, whatever the function returns.
func (o *Own) Prepare(ctx context.Context, j *Job) error {
	if !o.Has("prep_jid") {
		return nil
	}
	_, err := o.Call(ctx, "prep_jid", nil,
		data.NewMap("nocache", j.NoCache, "passed_jid", string(j.ID)))
	return err
}

// SaveJob passes a job to save_load (salt/master.py, ClearFuncs._prep_pub).
func (o *Own) SaveJob(ctx context.Context, j *Job) error {
	load, err := decodedLoad(j.Load)
	if err != nil {
		return err
	}
	args := []any{string(j.ID), load}
	if len(j.Minions) > 0 && o.takes("save_load", "minions") {
		args = append(args, data.Values(j.Minions))
	}
	_, err = o.Call(ctx, "save_load", args, nil)
	return err
}

// SaveReturn passes a return to returner, and with endTime its time to update_endtime
// (salt/utils/job.py, store_job).
func (o *Own) SaveReturn(ctx context.Context, id job.ID, r *Return, endTime bool) error {
	load, err := decodedLoad(r.Load)
	if err != nil {
		return err
	}
	_, err = o.Call(ctx, "returner", []any{load}, nil)
	if err == nil && endTime && o.Has("update_endtime") {
		_, err = o.Call(ctx, "update_endtime",
			[]any{string(id), job.NewID(r.Received).StartTime()}, nil)
	}
	return err
}

// Clean calls clean_old_jobs, if the returner has it.
func (o *Own) Clean(ctx context.Context) error {
	if !o.Has("clean_old_jobs") {
		return nil
	}
	_, err := o.Call(ctx, "clean_old_jobs", nil, nil)
	return err
}

func decodedLoad(raw data.Raw) (*data.Map, error) {
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	if err == nil && !ok {
		err = errors.New("it is no dictionary")
	}
	if err != nil {
		return nil, fmt.Errorf("decode a load: %w", err)
	}
	Decoded(m)
	return m, nil
}

// ReturnEvents implements EventReturner by the function event_return. As in Salt, events for which
// it raises an exception are lost (salt/utils/event.py, EventReturn._flush_event_single).
func (o *Own) ReturnEvents(ctx context.Context, events []Event) error {
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = data.NewMap("tag", e.Tag, "data", e.Data)
	}
	if !o.Has("event_return") {
		o.log.Errorf("Could not store return for event(s) - returner '%s.event_return' not found: %s",
			o.name, o.Missing("event_return"))
		return nil
	}
	if _, err := o.Call(ctx, "event_return", []any{list}, nil); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		o.log.Errorf("Could not store events - returner '%s.event_return' raised exception: %v",
			o.name, err)
	}
	return nil
}

// An OwnReader reads what a returner of users' own code has stored, in the place of a job cache
// that the master keeps for itself. What operators see of returns comes from the returner.
type OwnReader struct {
	own   *Own
	cache JobReader
}

var _ ProgressReader = (*OwnReader)(nil)

// NewOwnReader returns a reader of a returner, and of the master's own cache.
func NewOwnReader(own *Own, cache JobReader) *OwnReader { return &OwnReader{own, cache} }

// Job implements JobReader. It asks get_load for a job that the master's cache does not have.
func (r *OwnReader) Job(ctx context.Context, id job.ID) (*Job, error) {
	j, err := r.cache.Job(ctx, id)
	if !errors.Is(err, ErrUnknownJob) || !r.own.Has("get_load") {
		return j, err
	}
	v, failed := r.own.Call(ctx, "get_load", []any{string(id)}, nil)
	load, ok := v.(*data.Map)
	if failed != nil {
		r.own.log.WithError(failed).Errorf("read job %s from returner %s", id, r.own.name)
	}
	if !ok || load.Len() == 0 {
		return nil, err
	}
	return ownJob(id, load)
}

// ownJob returns the job of a load.
func ownJob(id job.ID, load *data.Map) (*Job, error) {
	raw, err := payload.MarshalBin(load)
	if err != nil {
		return nil, fmt.Errorf("encode job %s: %w", id, err)
	}
	started, err := id.Time()
	if err != nil {
		started = time.Unix(0, 0).UTC()
	}
	return &Job{ID: id, Load: raw, Minions: data.TextsOf(load.Value("Minions")), Started: started},
		nil
}

// Returns implements JobReader by get_jid. The master's cache is used if the returner has no such
// function, or if it fails.
func (r *OwnReader) Returns(ctx context.Context, id job.ID) ([]Return, error) {
	if !r.own.Has("get_jid") {
		return r.cache.Returns(ctx, id)
	}
	v, err := r.own.Call(ctx, "get_jid", []any{string(id)}, nil)
	found, ok := v.(*data.Map)
	if err == nil && !ok && data.Truth(v) {
		err = fmt.Errorf("function get_jid of %s returned %.60s, which is no dictionary",
			r.own.name, data.Repr(v))
	}
	if err != nil {
		r.own.log.WithError(err).Errorf("read the returns of job %s from returner %s", id, r.own.name)
		return r.cache.Returns(ctx, id)
	}
	var list []Return
	for minion, one := range found.All() {
		ret, err := ownReturn(id, data.Str(minion), one)
		if err != nil {
			return nil, err
		}
		list = append(list, ret)
	}
	return list, nil
}

// ownReturn returns an entry of the dictionary of get_jid as a return.
func ownReturn(id job.ID, minion string, entry any) (Return, error) {
	load := data.NewMap("id", minion, "jid", string(id))
	if m, ok := entry.(*data.Map); ok {
		load.Update(m)
	}
	raw, err := payload.MarshalBin(load)
	if err != nil {
		return Return{}, fmt.Errorf("encode the return of %s for job %s: %w", minion, id, err)
	}
	return Return{Minion: minion, Load: raw}, nil
}

// Jobs implements JobReader: the jobs of the master's cache, and those of get_jids that it lacks.
func (r *OwnReader) Jobs(ctx context.Context, f Filter) ([]Job, error) {
	jobs, err := r.cache.Jobs(ctx, f)
	if err != nil || !r.own.Has("get_jids") {
		return jobs, err
	}
	v, failed := r.own.Call(ctx, "get_jids", nil, nil)
	if failed != nil {
		r.own.log.WithError(failed).Errorf("list the jobs of returner %s", r.own.name)
		return jobs, nil
	}
	known := map[job.ID]bool{}
	for i := range jobs {
		known[jobs[i].ID] = true
	}
	listed, _ := v.(*data.Map)
	for key, about := range listed.All() {
		id := job.ID(data.Str(key))
		m, ok := about.(*data.Map)
		if known[id] || !ok {
			continue
		}
		j, err := ownJob(id, data.NewMap("fun", m.Value("Function"), "arg", m.Value("Arguments"),
			"tgt", m.Value("Target"), "tgt_type", m.Value("Target-type"), "user", m.Value("User")))
		if err != nil {
			return nil, err
		}
		if f.selects(j, m.Text("Function")) {
			jobs = append(jobs, *j)
		}
	}
	return f.Newest(jobs), nil
}

// selects reports whether f selects a job of a function.
func (f Filter) selects(j *Job, fun string) bool {
	return (f.Since.IsZero() || !j.Started.Before(f.Since)) &&
		(f.Until.IsZero() || j.Started.Before(f.Until)) && (f.Fun == "" || f.Fun == fun)
}

// Progress implements ProgressReader, from the master's own cache.
func (r *OwnReader) Progress(ctx context.Context, id job.ID) ([]Progress, error) {
	return ProgressOf(ctx, r.cache, id)
}

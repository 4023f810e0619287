// Package jobs is Salt's runner jobs: past jobs, running jobs, and their returns
// (salt/runners/jobs.py).
//
// In addition to Salt's functions, status returns a job's progress on each minion.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
)

// Needs are the runner's dependencies.
type Needs struct {
	Jobs returners.JobReader // the master's job cache
	// Other opens a job cache by the name of its returner, for ext_source and ext_job_cache; if nil
	// only Jobs is available.
	Other func(ctx context.Context, name string) (returners.JobReader, error)
}

// Plugin returns the runner jobs.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "jobs", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Jobs == nil {
			return nil, errors.New("no job cache is configured")
		}
		return (&module{env, n}).module(), nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

func (m *module) module() *loader.Module {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("active", m.active),
		loader.F("exit_success", m.exitSuccess),
		loader.F("last_run", m.lastRun),
		loader.F("list_job", m.listJob),
		loader.F("list_jobs", m.listJobs),
		loader.F("list_jobs_filter", m.listJobsFilter),
		loader.F("lookup_jid", m.lookupJid),
		loader.F("master", m.master),
		loader.F("print_job", m.printJob),
		loader.F("status", m.status),
	}}
}

// cacheName returns the name of the job cache to use: ext_job_cache, the caller's choice, or
// master_job_cache.
func (m *module) cacheName(asked any) string {
	for _, name := range []any{m.env.Option("ext_job_cache"), asked} {
		if s, ok := name.(string); ok && s != "" {
			return s
		}
	}
	return m.masterCache()
}

// masterCache returns the name of the master's own cache.
func (m *module) masterCache() string {
	if name := m.env.Opts.Text("master_job_cache"); name != "" {
		return name
	}
	return "local_cache"
}

// cache returns the job cache to use.
func (m *module) cache(ctx context.Context, asked any) (returners.JobReader, error) {
	name := m.cacheName(asked)
	if name == m.masterCache() {
		return m.needs.Jobs, nil
	}
	if m.needs.Other == nil {
		return nil, loader.Exception("KeyError", "%s", data.Repr(name+".get_load"))
	}
	r, err := m.needs.Other(ctx, name)
	if err != nil {
		return nil, loader.Execution("job cache %s: %w", name, err)
	}
	return r, nil
}

// A record is a job with its returns.
type record struct {
	jid     string
	load    *data.Map // the publication; empty for a job without one
	minions []string
	returns []answer
}

// An answer is one minion's return: fields return, retcode, success and out, as far as present.
type answer struct {
	minion string
	fields *data.Map
}

// find looks up a job and the returns of some minions; nil means all. A missing job has an empty load and
// no answers.
func find(ctx context.Context, r returners.JobReader, jid string, minions []string) (*record, error) {
	found := &record{jid: jid, load: &data.Map{}}
	id, err := job.ParseID(jid)
	if err != nil {
		return found, nil // an invalid id: no such job exists
	}
	j, err := r.Job(ctx, id)
	switch {
	case errors.Is(err, returners.ErrUnknownJob):
		return found, nil
	case err != nil:
		return nil, err
	}
	if found.load, err = loadOf(j); err != nil {
		return nil, err
	}
	found.minions = slices.Clone(j.Minions)
	err = returners.WalkReturns(ctx, r, id, minions, func(one returners.Return) error {
		fields, err := fieldsOf(one)
		if err == nil {
			found.returns = append(found.returns, answer{one.Minion, fields})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// loadOf decodes the publication of a job.
func loadOf(j *returners.Job) (*data.Map, error) {
	v, err := payload.UnmarshalText(j.Load, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", j.ID, err)
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("read job %s: its load is not a map", j.ID)
	}
	return m, nil
}

// fieldsOf returns the fields of a return that Salt's job cache keeps
// (salt/returners/local_cache.py).
func fieldsOf(r returners.Return) (*data.Map, error) {
	fields, err := payload.ParseFields(r.Load, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("read return of %s: %w", r.Minion, err)
	}
	kept := &data.Map{}
	for _, name := range []string{"return", "retcode", "success", "out"} {
		raw := fields.Raw(name)
		if raw == nil {
			continue
		}
		v, err := payload.UnmarshalText(raw, payload.WireLimits())
		if err != nil {
			return nil, fmt.Errorf("read return of %s: %w", r.Minion, err)
		}
		kept.Set(name, v)
	}
	return kept, nil
}

// results returns the answers by minion.
func (r *record) results() *data.Map {
	m := &data.Map{}
	for _, a := range r.returns {
		m.Set(a.minion, a.fields)
	}
	return m
}

// instance returns a job as Salt shows it.
func (r *record) instance() *data.Map {
	m := instance(r.jid, r.load)
	if len(r.minions) > 0 && r.load.Len() > 0 {
		m.Set("Minions", data.Values(r.minions))
		start := m.Value("StartTime")
		m.Delete("StartTime")
		m.Set("StartTime", start)
	}
	return m
}

// instance returns a publication, or an entry of saltutil.running, as Salt shows jobs
// (_format_jid_instance).
func instance(jid string, load *data.Map) *data.Map {
	start := job.ID(jid).StartTime()
	if load.Len() == 0 {
		return data.NewMap("Error", "Cannot contact returner or no job with this jid",
			"StartTime", start)
	}
	m := returners.Instance(jid, load)
	if id, ok := load.Get(job.OwnOf); ok {
		m.Delete("StartTime")
		m.Set("Ordered-by", "minion "+data.Str(id))
		m.Set("StartTime", start)
	}
	return m
}

// progress reports progress if the caller asked for it.
func progress(ctx context.Context, wanted bool, format string, args ...any) {
	if wanted {
		runners.RunOf(ctx).Progress(ctx, format, args...)
	}
}

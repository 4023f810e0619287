// Package schedule is Salt's state schedule: it keeps jobs in the minion's schedule (salt/states/schedule.py). The module schedule
// does the work.
package schedule

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state schedule.
func Plugin() loader.Plugin { return loader.Plugin{Name: "schedule", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("present", m.present),
		loader.F("absent", m.absent),
		loader.F("enabled", m.enabled),
		loader.F("disabled", m.disabled),
	}}, nil
}

type jobArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// jobs returns the jobs of the schedule.
func (m *module) jobs(ctx context.Context) (*data.Map, error) {
	v, err := m.env.Call(ctx, "schedule.list", nil, data.NewMap("show_all", true, "return_yaml", false))
	jobs, _ := v.(*data.Map)
	return jobs, err
}

// call calls a function of the module schedule for a job; in test mode it changes nothing.
func (m *module) call(ctx context.Context, fun string, a jobArgs) (*data.Map, error) {
	words := a.Kwargs.Clone()
	if change.Test(ctx) {
		words.Set("test", true)
	}
	v, err := m.env.Call(ctx, "schedule."+fun, []any{a.Name}, words)
	if err != nil {
		return nil, err
	}
	ret, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("schedule.%s returned no result: %s", fun, data.Str(v))
	}
	return ret, nil
}

// result makes the state's result of that of the module: comment is for what is done.
func result(ctx context.Context, a jobArgs, done *data.Map, comment string) *data.Map {
	changes, _ := done.Value("changes").(*data.Map)
	switch {
	case change.Test(ctx):
		return change.New(a.Name, true, changes, data.Str(done.Value("comment")))
	case !data.Truth(done.Value("result")):
		return change.New(a.Name, done.Value("result"), nil, done.Value("comment"))
	}
	return change.New(a.Name, true, changes, comment)
}

// present has a job in the schedule. The arguments are those of the module's function add.
//
// function
//
//	The function to run.
//
// seconds, minutes, hours, days, when, cron, once
//
//	When it runs.
//
// job_args, job_kwargs
//
//	Its arguments.
//
//	job3:
//	  schedule.present:
//	    - function: test.ping
//	    - seconds: 3600
//	    - splay: 10
func (m *module) present(ctx context.Context, a jobArgs) (any, error) {
	jobs, err := m.jobs(ctx)
	if err != nil {
		return nil, err
	}
	now, ok := jobs.Get(a.Name)
	if !ok {
		return m.add(ctx, a)
	}
	v, err := m.env.Call(ctx, "schedule.build_schedule_item", []any{a.Name}, a.Kwargs)
	if err != nil {
		return nil, err
	}
	item, _ := v.(*data.Map)
	if made, ok := item.Get("result"); ok && !data.Truth(made) {
		return change.New(a.Name, made, nil, item.Value("comment")), nil
	}
	if item != nil && !item.Has("enabled") {
		item.Set("enabled", true)
	}
	if data.Equal(item, now) {
		return change.Done(a.Name, "Job "+data.Str(a.Name)+" in correct state"), nil
	}
	done, err := m.call(ctx, "modify", a)
	if err != nil {
		return nil, err
	}
	return result(ctx, a, done, "Modifying job "+data.Str(a.Name)+" in schedule"), nil
}

func (m *module) add(ctx context.Context, a jobArgs) (any, error) {
	done, err := m.call(ctx, "add", a)
	if err != nil {
		return nil, err
	}
	ret := result(ctx, a, done, "Adding new job "+data.Str(a.Name)+" to schedule")
	if change.Test(ctx) {
		ret.Set("changes", &data.Map{})
	}
	return ret, nil
}

// absent has a job not be in the schedule.
//
//	job1:
//	  schedule.absent
func (m *module) absent(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "delete", "Removed job ", " from schedule", true)
}

// enabled has a job of the schedule run at its times.
//
//	job1:
//	  schedule.enabled
func (m *module) enabled(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "enable_job", "Enabled job ", " from schedule", false)
}

// disabled has a job of the schedule not run.
//
//	job1:
//	  schedule.disabled
func (m *module) disabled(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "disable_job", "Disabled job ", " from schedule", false)
}

// turn calls a function for a job that is in the schedule.
func (m *module) turn(ctx context.Context, a jobArgs, fun, before, after string, changes bool) (any, error) {
	jobs, err := m.jobs(ctx)
	if err != nil {
		return nil, err
	}
	if !jobs.Has(a.Name) {
		return change.Done(a.Name, "Job "+data.Str(a.Name)+" not present in schedule"), nil
	}
	done, err := m.call(ctx, fun, a)
	if err != nil {
		return nil, err
	}
	ret := result(ctx, a, done, before+data.Str(a.Name)+after)
	if !changes || change.Test(ctx) {
		ret.Set("changes", &data.Map{})
	}
	return ret, nil
}

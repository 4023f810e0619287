// Package schedule is Salt's state schedule: it manages jobs in the minion's schedule
// (salt/states/schedule.py). It uses the module schedule.
package schedule

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
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
	return calls.Found[*data.Map](ctx, m.env, "schedule.list", nil,
		data.NewMap("show_all", true, "return_yaml", false))
}

// call calls a function of the module schedule for a job. In test mode it changes nothing.
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

// result converts the result of the module to that of the state. comment is for a successful
// change.
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

// present adds a job to the schedule. The arguments are those of the module's function add.
//
// function
//
//	The function to run.
//
// seconds, minutes, hours, days, when, cron, once
//
//	When the job runs.
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
	item, err := loader.CallAs[*data.Map](ctx, m.env, "schedule.build_schedule_item",
		[]any{a.Name}, a.Kwargs)
	if err != nil {
		return nil, err
	}
	if made, ok := item.Get("result"); ok && !data.Truth(made) {
		return change.New(a.Name, made, nil, item.Value("comment")), nil
	}
	if item != nil && !item.Has("enabled") {
		item.Set("enabled", true)
	}
	if data.Equal(item, now) {
		return change.Unchanged(a.Name, "Job "+data.Str(a.Name)+" in correct state"), nil
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

// absent removes a job from the schedule.
//
//	job1:
//	  schedule.absent
func (m *module) absent(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "delete", "Removed job ", " from schedule", true)
}

// enabled enables a job of the schedule.
//
//	job1:
//	  schedule.enabled
func (m *module) enabled(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "enable_job", "Enabled job ", " from schedule", false)
}

// disabled disables a job of the schedule.
//
//	job1:
//	  schedule.disabled
func (m *module) disabled(ctx context.Context, a jobArgs) (any, error) {
	return m.turn(ctx, a, "disable_job", "Disabled job ", " from schedule", false)
}

// turn calls a function for an existing job.
func (m *module) turn(
	ctx context.Context, a jobArgs, fun, before, after string, changes bool,
) (any, error) {
	jobs, err := m.jobs(ctx)
	if err != nil {
		return nil, err
	}
	if !jobs.Has(a.Name) {
		return change.Unchanged(a.Name, "Job "+data.Str(a.Name)+" not present in schedule"), nil
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

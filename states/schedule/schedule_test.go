package schedule_test

import (
	"cmp"
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/schedule"
)

// A minion has a schedule and a module schedule that changes it unless it is called with test.
type minion struct{ jobs *data.Map }

type callArgs struct {
	Name   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (m *minion) plugin() loader.Plugin {
	does := func(fun, would string, do func(job *data.Map, a callArgs)) loader.Func {
		return loader.F(fun, func(_ context.Context, a callArgs) (any, error) {
			if a.Kwargs.Value("test") == true {
				return data.NewMap("result", true, "comment", would, "changes", data.NewMap("test", fun)), nil
			}
			job, _ := m.jobs.Value(a.Name).(*data.Map)
			do(job, a)
			return data.NewMap("result", true, "comment", "done", "changes", data.NewMap("job", fun)), nil
		})
	}
	set := func(_ *data.Map, a callArgs) {
		job := a.Kwargs.Clone()
		job.Set("enabled", true)
		m.jobs.Set(a.Name, job)
	}
	return loader.Plugin{Name: "schedule", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("list", func(context.Context, callArgs) (any, error) { return m.jobs.Clone(), nil }),
			loader.F("build_schedule_item",
				func(_ context.Context, a callArgs) (any, error) { return a.Kwargs.Clone(), nil }),
			does("add", "would add", set),
			does("modify", "would modify", set),
			does("delete", "would delete", func(_ *data.Map, a callArgs) { m.jobs.Delete(a.Name) }),
			does("enable_job", "would enable", func(job *data.Map, _ callArgs) { job.Set("enabled", true) }),
			does("disable_job", "would disable",
				func(job *data.Map, _ callArgs) { job.Set("enabled", false) }),
		}}, nil
	}}
}

// Each state runs in test mode, which writes nothing, then for real, again, and in test mode again.
// Salt's test mode has the result True, and the module's message as its comment.
func TestStates(t *testing.T) {
	m := &minion{jobs: &data.Map{}}
	modules, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{m.plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(modules.Env(), []loader.Plugin{schedule.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	none, job := &data.Map{}, data.NewMap("name", "job", "function", "test.ping", "seconds", int64(60))
	other := job.Clone()
	other.Set("seconds", int64(90))
	name := data.NewMap("name", "job")
	did := func(fun string) *data.Map { return data.NewMap("job", fun) }
	for _, c := range []struct {
		fun                      string
		args                     *data.Map
		would, done, same, again string // again: last run in test mode, if it differs from same
		predicted, changes       *data.Map
	}{
		{"present", job, "would add", "Adding new job job to schedule", "Job job in correct state",
			"", none, did("add")},
		{"present", other, "would modify", "Modifying job job in schedule", "Job job in correct state", "",
			data.NewMap("test", "modify"), did("modify")},
		{"disabled", name, "would disable", "Disabled job job from schedule",
			"Disabled job job from schedule", "would disable", none, none},
		{"enabled", name, "would enable", "Enabled job job from schedule",
			"Enabled job job from schedule", "would enable", none, none},
		{"absent", name, "would delete", "Removed job job from schedule",
			"Job job not present in schedule", "", none, did("delete")},
	} {
		for i, step := range []struct {
			test    bool
			comment string
			changes *data.Map
		}{{true, c.would, c.predicted}, {false, c.done, c.changes}, {false, c.same, none},
			{true, cmp.Or(c.again, c.same), none}} {
			before := data.Repr(m.jobs)
			ctx := change.WithCall(t.Context(), &change.Call{Test: step.test, Low: &data.Map{}})
			got, err := states.Invoke(ctx, "schedule."+c.fun, nil, c.args.Clone())
			if want := change.New("job", true, step.changes, step.comment); err != nil ||
				!data.Equal(got, want) {
				t.Errorf("%s %s, step %d: got %s, %v\nwant %s", c.fun, data.Repr(c.args), i,
					data.Repr(got), err, data.Repr(want))
			}
			if after := data.Repr(m.jobs); i != 1 && after != before {
				t.Errorf("%s, step %d: the schedule was %s and is %s", c.fun, i, before, after)
			}
		}
	}
}

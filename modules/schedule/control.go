package schedule

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

type runJobArgs struct {
	Name  any
	Force bool `default:"False"`
}

// runJob makes the minion run a job now, regardless of its schedule. It does not wait for the job.
//
// force : False
//
//	Run a job even if it is disabled.
//
// CLI Example:
//
//	salt '*' schedule.run_job job1
//	salt '*' schedule.run_job job1 force=True
func (m *module) runJob(ctx context.Context, a runJobArgs) (any, error) {
	name, jobs := data.Str(a.Name), m.in(ctx, "")
	ret := data.NewMap("comment", []any{}, "result", true)
	switch {
	case !has(jobs, a.Name):
		return failed(ret, "Job "+name+" does not exist."), nil
	case !enabledIn(jobs, a.Name) && !a.Force:
		ret.Set("comment", "Job "+name+" is disabled.")
	case m.env.Fired(ctx, requestTag, data.NewMap("name", a.Name, "func", "run_job")):
		ret.Set("comment", "Scheduling Job "+name+" on minion.")
	default:
		return failed(ret, "Failed to run job "+name+" on minion."), nil
	}
	return ret, nil
}

// A toggle holds the words for enabling or disabling.
type toggle struct {
	on                bool
	verb, done, would string
}

func enabling() toggle  { return toggle{true, "enable", "Enabled", "enabled"} }
func disabling() toggle { return toggle{false, "disable", "Disabled", "disabled"} }

// enableJob enables a job.
//
// persist : True
//
//	Also save the schedule.
//
// CLI Example:
//
//	salt '*' schedule.enable_job job1
func (m *module) enableJob(ctx context.Context, a nameArgs) (any, error) {
	return m.toggleJob(ctx, a, enabling(), data.Truth(m.env.Option("test"))), nil
}

// disableJob disables a job. It does not run again until it is enabled.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// CLI Example:
//
//	salt '*' schedule.disable_job job1
func (m *module) disableJob(ctx context.Context, a nameArgs) (any, error) {
	return m.toggleJob(ctx, a, disabling(), flag(a.Options, "test")), nil
}

func (m *module) toggleJob(ctx context.Context, a nameArgs, t toggle, test bool) *data.Map {
	name := data.Str(a.Name)
	ret := data.NewMap("comment", []any{}, "result", true, "changes", data.NewMap())
	if !data.Truth(a.Name) {
		failed(ret, nameRequired)
	}
	if test {
		ret.Set("comment", "Job: "+name+" would be "+t.would+" in schedule.")
		return ret
	}
	request := []any{"name", a.Name, "func", t.verb + "_job", "persist", persists(a.Options)}
	switch where, _, found := m.place(ctx, a.Name); {
	case !found:
		return failed(ret, "Job "+name+" does not exist.")
	case where == "pillar":
		request = []any{"name", a.Name, "where", "pillar", "func", t.verb + "_job",
			"persist", false}
	}
	jobs, ok := m.askSchedule(ctx, t.would+"_job_complete", request...)
	switch {
	case !ok:
	case has(jobs, a.Name) && enabledIn(jobs, a.Name) == t.on:
		ret.Set("result", true)
		ret.Set("comment", t.done+" Job "+name+" in schedule.")
		ret.Set("changes", data.NewMap(a.Name, t.would))
	default:
		failed(ret, "Failed to "+t.verb+" job "+name+" in schedule.")
	}
	return ret
}

// save makes the minion save the jobs of its schedule, except those of the pillar.
//
// test : False
//
//	Only report what would be done.
//
// CLI Example:
//
//	salt '*' schedule.save
func (m *module) save(ctx context.Context, a keywords) (any, error) {
	ret := data.NewMap("comment", []any{}, "result", true)
	if flag(a.Options, "test") {
		ret.Set("comment", "Schedule would be saved.")
		return ret, nil
	}
	if !data.Truth(m.ask(ctx, "saved", "func", "save_schedule").Value("complete")) {
		return failed(ret, "Failed to save schedule."), nil
	}
	ret.Set("comment", "Schedule (non-pillar items) saved.")
	return ret, nil
}

// enable enables the schedule as a whole.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// CLI Example:
//
//	salt '*' schedule.enable
func (m *module) enable(ctx context.Context, a keywords) (any, error) {
	return m.toggleAll(ctx, a.Options, enabling()), nil
}

// disable disables the schedule as a whole. No job runs again until it is enabled.
//
// test : False
//
//	Only report what would be done.
//
// persist : True
//
//	Also save the schedule.
//
// CLI Example:
//
//	salt '*' schedule.disable
func (m *module) disable(ctx context.Context, a keywords) (any, error) {
	return m.toggleAll(ctx, a.Options, disabling()), nil
}

func (m *module) toggleAll(ctx context.Context, options *data.Map, t toggle) *data.Map {
	ret := data.NewMap("comment", []any{}, "changes", data.NewMap(), "result", true)
	if flag(options, "test") {
		ret.Set("comment", "Schedule would be "+t.would+".")
		return ret
	}
	jobs, ok := m.askSchedule(ctx, t.would+"_complete", "func", t.verb,
		"persist", persists(options))
	on, known := jobs.Get("enabled")
	switch {
	case !ok:
	case known && data.Truth(on) == t.on:
		ret.Set("comment", t.done+" schedule on minion.")
		ret.Set("changes", data.NewMap("schedule", t.would))
	default:
		failed(ret, "Failed to "+t.verb+" schedule on minion.")
	}
	return ret
}

// reload makes the minion load the saved jobs again, and those of the pillar if it has a schedule.
//
// CLI Example:
//
//	salt '*' schedule.reload
func (m *module) reload(ctx context.Context, _ loader.NoArgs) (any, error) {
	var comments []any
	ok := true
	say := func(good bool, yes, no string) {
		if !good {
			ok, yes = false, no
		}
		comments = append(comments, yes)
	}
	if m.env.PillarNow().Has("schedule") {
		say(m.env.Fired(ctx, "pillar_refresh", data.NewMap()),
			"Reloaded schedule from pillar on minion.",
			"Failed to reload schedule from pillar on minion.")
	}
	if src, found := m.reloadFrom(); found {
		v, err := yaml.Load(src, yaml.Options{})
		if err != nil {
			comments = append(comments, fmt.Sprintf("Unable to read existing schedule file: %v",
				err))
		}
		if all, _ := v.(*data.Map); data.Truth(all.Value("schedule")) {
			say(m.env.Fired(ctx, requestTag, data.NewMap("func", "reload", "schedule", all)),
				"Reloaded schedule on minion from schedule.conf.",
				"Failed to reload schedule on minion from schedule.conf.")
		} else {
			say(false, "", "Failed to reload schedule on minion.  Saved file is empty or invalid.")
		}
	}
	if comments == nil {
		comments = []any{}
	}
	return data.NewMap("comment", comments, "result", ok), nil
}

// reloadFrom returns the contents of schedule.conf, or else of the file that schedule.save writes.
func (m *module) reloadFrom() (src []byte, found bool) {
	for _, path := range []string{filepath.Join(m.includeDir(), "schedule.conf"), m.file()} {
		if src, err := os.ReadFile(path); err == nil {
			return src, true
		}
	}
	return nil, false
}

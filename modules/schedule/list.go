package schedule

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

type listArgs struct {
	ShowAll      bool `default:"False"`
	ShowDisabled bool `default:"True"`
	Where        any  `default:"None"`
	ReturnYAML   bool `name:"return_yaml" default:"True"`
	Offline      bool `default:"False"`
}

// list shows the jobs of the schedule, as YAML with a word whether each is saved.
//
// show_all : False
//
//	Show the jobs of the minion itself too, whose names begin with __.
//
// show_disabled : True
//
//	Set to False to leave out jobs that are disabled.
//
// where
//
//	Show the jobs of the configuration (opts) or of the pillar alone.
//
// return_yaml : True
//
//	Set to False to get a dictionary.
//
// offline : False
//
//	Show what is saved, without asking the minion.
//
// CLI Example:
//
//	salt '*' schedule.list
//	salt '*' schedule.list show_all=True
//	salt '*' schedule.list show_disabled=False
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	saved := m.saved()
	jobs := m.jobs(ctx, a)
	if !a.ReturnYAML {
		return jobs, nil
	}
	for name, v := range jobs.All() {
		if job, ok := v.(*data.Map); ok {
			own := strings.HasPrefix(data.Str(name), "__") // a job of the minion, which is there after each start
			job.Set("saved", own || saved.Has(name))
		}
	}
	out, err := yaml.Dump(data.NewMap("schedule", jobs), yaml.DumpOptions{Flow: yaml.Block, SortKeys: true, Copies: true})
	return string(out), err
}

// jobs returns what the minion runs, or what is saved, in the form that operators see. It may be changed.
func (m *module) jobs(ctx context.Context, a listArgs) *data.Map {
	all := data.NewMap()
	if a.Offline {
		all = m.saved()
	} else if s, ok := m.askSchedule(ctx, "list_complete", "func", "list", "where", a.Where); ok {
		all = s
	}
	shown := data.NewMap()
	for name, v := range all.All() {
		job, isJob := v.(*data.Map)
		switch {
		case name == "enabled" || name == "skip_function" || name == "skip_during_range" || !isJob:
			shown.Set(name, data.Clone(v))
		case strings.HasPrefix(data.Str(name), "__") && !a.ShowAll:
		default:
			if job = tidied(job); a.ShowDisabled || data.Truth(job.Value("enabled")) {
				shown.Set(name, job)
			}
		}
	}
	return shown
}

// tidied returns the part of a job that operators see.
func tidied(job *data.Map) *data.Map {
	shown := data.NewMap()
	for key, v := range job.All() {
		switch {
		case !isOption(key) || v == nil:
		case v == "true" || v == "false":
			shown.Set(key, v == "true")
		default:
			shown.Set(key, data.Clone(v))
		}
	}
	if !job.Has("enabled") {
		shown.Set("enabled", true)
	}
	return shown
}

// isOption tells whether a key of a job is one that operators write (SCHEDULE_CONF).
func isOption(key any) bool {
	switch key {
	case "name", "maxrunning", "function", "splay", "range", "when", "once", "once_fmt", "returner", "jid_include", "args", "kwargs",
		"seconds", "minutes", "hours", "days", "enabled", "return_job", "metadata", "cron", "until", "after", "return_config",
		"return_kwargs", "run_on_start", "skip_during_range", "run_after_skip_range":
		return true
	}
	return false
}

// in returns all jobs of a place: opts, pillar, or "" for both.
func (m *module) in(ctx context.Context, where string) *data.Map {
	a := listArgs{ShowAll: true, ShowDisabled: true}
	if where != "" {
		a.Where = where
	}
	return m.jobs(ctx, a)
}

// place tells where a job is, opts or pillar.
func (m *module) place(ctx context.Context, name any) (where string, jobs *data.Map, found bool) {
	for _, where := range []string{"opts", "pillar"} {
		if jobs := m.in(ctx, where); has(jobs, name) {
			return where, jobs, true
		}
	}
	return "", nil, false
}

type isEnabledArgs struct {
	Name any `default:"None"`
}

// isEnabled returns the job of a name as the minion has it, {} when there is none. Without a name it tells whether the schedule as a
// whole is enabled.
//
// CLI Example:
//
//	salt '*' schedule.is_enabled name=job_name
//	salt '*' schedule.is_enabled
func (m *module) isEnabled(ctx context.Context, a isEnabledArgs) (any, error) {
	jobs := m.jobs(ctx, listArgs{ShowDisabled: true})
	key, otherwise := a.Name, any(data.NewMap())
	if !data.Truth(a.Name) {
		key, otherwise = "enabled", true
	}
	if has(jobs, key) {
		return jobs.Value(key), nil
	}
	return otherwise, nil
}

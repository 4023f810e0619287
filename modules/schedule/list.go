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

// list shows the jobs of the schedule as YAML, with a key that shows whether each is saved.
//
// show_all : False
//
//	Also show the minion's internal jobs, whose names begin with __.
//
// show_disabled : True
//
//	False leaves out disabled jobs.
//
// where
//
//	Show only the jobs of the configuration (opts) or of the pillar.
//
// return_yaml : True
//
//	False returns a dictionary.
//
// offline : False
//
//	Show the saved schedule, without asking the minion.
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
			own := strings.HasPrefix(data.Str(name), "__") // internal, recreated at each start
			job.Set("saved", own || saved.Has(name))
		}
	}
	out, err := yaml.Dump(data.NewMap("schedule", jobs),
		yaml.DumpOptions{Flow: yaml.Block, SortKeys: true, Copies: true})
	return string(out), err
}

// jobs returns the jobs that the minion runs, or the saved ones, in the form that operators see.
// The caller may change the result.
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

// isOption reports whether operators may set a key of a job (SCHEDULE_CONF).
func isOption(key any) bool {
	switch key {
	case "name", "maxrunning", "function", "splay", "range", "when", "once", "once_fmt", "returner",
		"jid_include", "args", "kwargs", "seconds", "minutes", "hours", "days", "enabled",
		"return_job", "metadata", "cron", "until", "after", "return_config",
		"return_kwargs", "run_on_start", "skip_during_range", "run_after_skip_range":
		return true
	}
	return false
}

// in returns the jobs that are in opts or in the pillar, as where selects, or in both for "".
func (m *module) in(ctx context.Context, where string) *data.Map {
	a := listArgs{ShowAll: true, ShowDisabled: true}
	if where != "" {
		a.Where = where
	}
	return m.jobs(ctx, a)
}

// place returns which part of the schedule a job is in, opts or pillar.
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

// isEnabled returns the job with a name as the minion has it, or {} if it does not exist. Without a
// name it reports whether the schedule as a whole is enabled.
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

package schedule

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/schedule"
)

const (
	timeConflict = `Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.`
	whenAndCron  = `Unable to use "when" and "cron" options together.  Ignoring.`
	nameRequired = "Job name is required."
)

// conflicts reports whether an interval is combined with when or cron.
func conflicts(options *data.Map) bool {
	for _, key := range intervals() {
		if options.Has(key) && (options.Has("when") || options.Has("cron")) {
			return true
		}
	}
	return false
}

func intervals() []string { return []string{"seconds", "minutes", "hours", "days"} }

// buildScheduleItem returns the job that the arguments describe, without adding it.
//
// CLI Example:
//
//	salt '*' schedule.build_schedule_item job1 function='test.ping' seconds=3600
func (m *module) buildScheduleItem(_ context.Context, a nameArgs) (any, error) {
	return build(a.Name, a.Options)
}

// build returns a job, or a comment and result False. It rejects jobs that can never run, which
// Salt adds.
func build(name any, o *data.Map) (*data.Map, error) {
	refused := data.NewMap("comment", []any{}, "result", true)
	if !data.Truth(name) {
		return failed(refused, nameRequired), nil
	}
	fun, ok := o.Get("function")
	switch {
	case !ok:
		return nil, loader.Exception("KeyError", "'function'")
	case conflicts(o):
		return failed(refused, timeConflict), nil
	case o.Has("when") && o.Has("cron"):
		return failed(refused, whenAndCron), nil
	}
	job := data.NewMap("function", fun)
	copyKeys(job, o, intervals()...)
	copyKeys(job, o, "return_job", "metadata")
	if comment := copyArguments(job, o); comment != "" {
		return failed(refused, comment), nil
	}
	if err := fillIn(job, o, name); err != nil {
		return nil, err
	}
	if comment := badWhen(o); comment != "" {
		return failed(refused, comment), nil
	}
	copyKeys(job, o, "range", "when", "once", "once_fmt", "cron", "returner", "after",
		"return_config", "return_kwargs", "until", "run_on_start", "skip_during_range")
	if err := schedule.CheckJob(data.Str(name), job); err != nil {
		return failed(refused, err.Error()), nil
	}
	return job, nil
}

func copyKeys(to, from *data.Map, keys ...string) {
	for _, key := range keys {
		if v, ok := from.Get(key); ok {
			to.Set(key, v)
		}
	}
}

// copyArguments copies job_args and job_kwargs to a job. If they are invalid, it returns the
// comment to report.
func copyArguments(job, o *data.Map) (comment string) {
	if v, ok := o.Get("job_args"); ok {
		if _, ok := v.([]any); !ok {
			return "job_args is not a list. please correct and try again."
		}
		job.Set("args", v)
	}
	if v, ok := o.Get("job_kwargs"); ok {
		if _, ok := v.(*data.Map); !ok {
			return "job_kwargs is not a dict. please correct and try again."
		}
		job.Set("kwargs", v)
	}
	return ""
}

// fillIn sets the keys that every job has.
func fillIn(job, o *data.Map, name any) error {
	for _, d := range []struct {
		key   string
		value any
	}{{"maxrunning", int64(1)}, {"name", name}, {"enabled", true}, {"jid_include", true}} {
		job.Set(d.key, d.value)
		copyKeys(job, o, d.key)
	}
	splay, ok := o.Value("splay").(*data.Map)
	if !ok {
		copyKeys(job, o, "splay")
		return nil
	}
	for _, key := range []string{"start", "end"} {
		if !splay.Has(key) {
			return loader.Exception("KeyError", "'%s'", key)
		}
	}
	job.Set("splay", data.NewMap("start", splay.Value("start"), "end", splay.Value("end")))
	return nil
}

// badWhen returns the comment to report if when is invalid, else "".
func badWhen(o *data.Map) (comment string) {
	v, ok := o.Get("when")
	if !ok {
		return ""
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, when := range list {
		if text, ok := when.(string); !ok || schedule.CheckDate(text) != nil {
			return `Schedule item ` + data.Str(when) + ` for "when" in invalid.`
		}
	}
	return ""
}

package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Check returns the errors of the option schedule, as findings of package config. All are doubts,
// since a job that cannot run affects nothing else. known reports whether a function exists; nil
// accepts all.
func Check(jobs *data.Map, known func(fun string) bool) error {
	r := reader{globals: readGlobals(jobs), place: time.Local, year: time.Now().Year()}
	var errs []error
	for key, v := range jobs.All() {
		if isGlobal(key) {
			continue
		}
		errs = append(errs, config.Doubt(config.Below(key, r.check(data.Str(key), v, known))))
	}
	return errors.Join(errs...)
}

// CheckJob returns the reason why a job can never run at its times, with the text that the
// scheduler logs, or nil. A job without a time is valid: schedule.run_job can run it.
func CheckJob(name string, job *data.Map) error {
	r := reader{place: time.Local, year: time.Now().Year(), warn: func(string, ...any) {}}
	_, err := r.read(name, job)
	return err
}

// check checks one job.
func (r reader) check(name string, job any, known func(fun string) bool) error {
	raw, ok := job.(*data.Map)
	if !ok {
		return config.Expected("a mapping, the job", job,
			"write function: test.ping and seconds: 60 below the name of the job")
	}
	var errs []error
	for key := range raw.All() {
		if word := data.Str(key); !isHidden(key) && !slices.Contains(words(), word) {
			errs = append(errs, config.Below(key, unknownWord(word)))
		}
	}
	r.warn = func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	sp, err := r.read(name, raw)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if sp.every == 0 && sp.rule == nil && len(sp.explicit) == 0 && !sp.runOnStart {
		errs = append(errs, &config.Finding{Text: "no time is given, so that the job never runs",
			Suggestion: "write one of seconds, minutes, hours, days, when, cron and once"})
	}
	return errors.Join(append(errs, checkFunction(raw, sp.call.Fun, known))...)
}

func unknownWord(word string) error {
	f := &config.Finding{Text: "a job has no such key, which is passed over"}
	if near := config.Nearest(word, words()); near != "" {
		f.Suggestion = fmt.Sprintf("is %s meant?", near)
	}
	return f
}

func checkFunction(raw *data.Map, fun string, known func(fun string) bool) error {
	switch {
	case fun == "":
		return &config.Finding{Text: "no function is given",
			Suggestion: "write function: test.ping"}
	case known != nil && !known(fun):
		for _, key := range []string{"function", "func", "fun"} {
			if raw.Has(key) {
				return config.Below(key, fmt.Errorf("there is no function %s here", fun))
			}
		}
	}
	return nil
}

// words returns the keys of a job (salt/utils/schedule.py, and salt/modules/schedule.py,
// SCHEDULE_CONF).
func words() []string {
	return []string{"name", "function", "func", "fun", "args", "job_args", "kwargs", "job_kwargs",
		"metadata", "enabled", "dry_run", "run_on_start", "seconds", "minutes", "hours", "days",
		"when", "cron", "once", "once_fmt", "splay", "range", "until", "after", "skip_during_range",
		"skip_explicit", "run_explicit", "run_after_skip_range", "maxrunning", "jid_include",
		"returner", "return_config", "return_kwargs", "return_job",
		"run", "persist"}
}

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// mostSeconds limits intervals and splays to a hundred years.
const mostSeconds = 100 * 366 * 24 * 3600

// loopInterval is how long before the start the time of once and when may be and still count:
// Salt's loop_interval.
const loopInterval = time.Second

// A spec is a parsed job.
type spec struct {
	call       Call
	enabled    bool
	dryRun     bool
	runOnStart bool
	every      time.Duration // 0 means none
	rule       rule          // nil means none
	lead       time.Duration
	splay      splay
	windows    windows
	explicit   dates // run_explicit
	times      []any // of when, with names resolved
}

// globals are the settings for all jobs, which are stored among the jobs.
type globals struct {
	enabled      bool
	splay        any
	skipRange    any
	skipFunction string
}

// isGlobal reports whether a key of the schedule is a global setting rather than a job.
func isGlobal(key any) bool {
	switch key {
	case "enabled", "skip_function", "skip_during_range", "splay":
		return true
	}
	return false
}

func readGlobals(all *data.Map) globals {
	g := globals{enabled: true, splay: all.Value("splay"),
		skipRange: all.Value("skip_during_range"), skipFunction: all.Text("skip_function")}
	if v, ok := all.Get("enabled"); ok {
		g.enabled = data.Truth(v)
	}
	return g
}

// A reader parses jobs.
type reader struct {
	globals globals
	whens   *data.Map
	place   *time.Location
	year    int // reference for years of two digits
	warn    func(format string, args ...any)
}

// read parses a job. Even with an error, the spec has a call and can be run manually.
func (r reader) read(name string, raw *data.Map) (*spec, error) {
	s := &spec{call: readCall(name, raw), enabled: true}
	if v, ok := raw.Get("enabled"); ok {
		s.enabled = data.Truth(v)
	}
	s.dryRun, s.runOnStart = data.Truth(raw.Value("dry_run")), data.Truth(raw.Value("run_on_start"))
	if several(raw) {
		return s, errors.New(`Unable to use "when", "cron", "once" options together. Ignoring.`) //nolint:staticcheck // Salt's text
	}
	if err := r.readTrigger(s, name, raw); err != nil {
		return s, err
	}
	s.splay = r.readSplay(raw)
	var err error
	if s.windows, err = r.readWindows(name, raw); err != nil {
		return s, err
	}
	s.explicit, err = readMoments(raw.Value("run_explicit"))
	return s, err
}

func several(raw *data.Map) bool {
	n := 0
	for _, key := range []string{"when", "cron", "once"} {
		if raw.Has(key) {
			n++
		}
	}
	return n > 1
}

func (r reader) readTrigger(s *spec, name string, raw *data.Map) error {
	switch {
	case hasInterval(raw):
		if raw.Has("when") || raw.Has("cron") || raw.Has("once") {
			r.warn(`Unable to use "seconds", "minutes", "hours", "days" with "when", "cron", "once" options. Job %s runs by its interval.`, name)
		}
		every, err := readInterval(name, raw)
		s.every = every
		return err
	case raw.Has("once"):
		s.lead = loopInterval + 1
		return r.readOnce(s, name, raw)
	case raw.Has("when"):
		s.lead = loopInterval + 1
		return r.readWhen(s, name, raw)
	case raw.Has("cron"):
		c, err := parseCron(data.Str(raw.Value("cron")))
		if err != nil {
			return fmt.Errorf("Invalid cron string. Ignoring job %s.", name) //nolint:staticcheck // Salt's text
		}
		s.rule = c
	}
	return nil
}

func hasInterval(raw *data.Map) bool {
	return raw.Has("seconds") || raw.Has("minutes") || raw.Has("hours") || raw.Has("days")
}

// readInterval adds up the time elements. A sum below a second counts as one.
func readInterval(name string, raw *data.Map) (time.Duration, error) {
	var sum int64
	for _, unit := range []struct {
		key     string
		seconds int64
	}{{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}} {
		v, ok := raw.Get(unit.key)
		if !ok {
			continue
		}
		n, err := loader.Int(v)
		if err != nil {
			return 0, fmt.Errorf("Invalid %s %s. Ignoring job %s.", unit.key, data.Str(v), name) //nolint:staticcheck // Salt's text
		}
		sum += min(max(n, -mostSeconds), mostSeconds) * unit.seconds
	}
	if sum < 0 {
		return 0, fmt.Errorf("Invalid interval of %d seconds. Ignoring job %s.", sum, name) //nolint:staticcheck // Salt's text
	}
	return time.Duration(min(max(sum, 1), mostSeconds)) * time.Second, nil
}

func (r reader) readOnce(s *spec, name string, raw *data.Map) error {
	v, format := raw.Value("once"), TimeFormat
	if raw.Has("once_fmt") {
		format = data.Str(raw.Value("once_fmt"))
	}
	t, ok := v.(time.Time)
	if !ok {
		var err error
		if t, err = ParseTime(data.Str(v), format); err != nil {
			return fmt.Errorf("Date string could not be parsed: %s, %s. Ignoring job %s.", data.Str(v), format, name) //nolint:staticcheck // Salt's text
		}
	}
	s.rule = dates{exact(t)}
	return nil
}

func (r reader) readWhen(s *spec, name string, raw *data.Map) error {
	list, ok := raw.Value("when").([]any)
	if !ok {
		list = []any{raw.Value("when")}
	}
	var ds dates
	for _, v := range list {
		named := v
		if data.Hashable(v) && r.whens.Has(v) {
			named = r.whens.Value(v)
		}
		d, err := r.readDate(named)
		if err != nil {
			return fmt.Errorf("Invalid date string %s. Ignoring job %s.", data.Str(v), name) //nolint:staticcheck // Salt's text
		}
		ds, s.times = append(ds, d), append(s.times, named)
	}
	s.rule = ds
	return nil
}

// readDate parses a date like dateutil, or converts a value that is already a time.
func (r reader) readDate(v any) (date, error) {
	switch v := v.(type) {
	case time.Time:
		return exact(v), nil
	case string:
		d, err := parseDate(v, r.year)
		if err != nil {
			return d, err
		}
		return d.in(r.place)
	}
	return date{}, errDate
}

// readMoments parses skip_explicit or run_explicit: times, or maps of time and time_fmt.
func readMoments(v any) (dates, error) {
	list, _ := v.([]any)
	var ds dates
	for _, one := range list {
		t, err := readMoment(one)
		if err != nil {
			return nil, err
		}
		ds = append(ds, exact(t))
	}
	return ds, nil
}

func readMoment(v any) (time.Time, error) {
	switch v := v.(type) {
	case time.Time:
		return v, nil
	case *data.Map:
		format := TimeFormat
		if v.Has("time_fmt") {
			format = data.Str(v.Value("time_fmt"))
		}
		return ParseTime(data.Str(v.Value("time")), format)
	}
	return ParseTime(data.Str(v), TimeFormat)
}

// A splay is the range of a random delay in seconds. The zero value means none.
type splay struct{ start, end int64 }

// readSplay parses the splay of a job, or else the global one.
func (r reader) readSplay(raw *data.Map) splay {
	v := raw.Value("splay")
	if !raw.Has("splay") {
		v = r.globals.splay
	}
	if !data.Truth(v) {
		return splay{}
	}
	s := splay{start: 1}
	var err, err2 error
	if m, ok := v.(*data.Map); ok {
		s.start, err = loader.Int(m.Value("start"))
		s.end, err2 = loader.Int(m.Value("end"))
	} else {
		s.end, err = loader.Int(v)
	}
	switch {
	case err != nil || err2 != nil:
		r.warn("schedule.handle_func: Invalid Splay %s, a number of seconds, or both start and end, are expected. Ignoring splay.",
			data.Str(v))
		return splay{}
	case s.end < s.start || s.start < 0 || s.end > mostSeconds:
		r.warn("schedule.handle_func: Invalid Splay, end must be larger than start. Ignoring splay.")
		return splay{}
	}
	return s
}

// isHidden reports whether a key of a job is not saved.
func isHidden(key any) bool { return strings.HasPrefix(data.Str(key), "_") }

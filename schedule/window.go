package schedule

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
)

// Reasons for skipping a job, with Salt's values of _skip_reason.
const (
	notInRange     = "not_in_range"
	inSkipRange    = "in_skip_range"
	skipExplicit   = "skip_explicit"
	untilPassed    = "until_passed"
	afterNotPassed = "after_not_passed"
	maxRunning     = "maxrunning"
	disabled       = "disabled"
)

// windows are the conditions for running a job that is due.
type windows struct {
	in           *stretch // range
	invert       bool
	skip         *stretch // skip_during_range
	runAfter     bool     // run_after_skip_range
	explicit     dates    // skip_explicit
	until, after *date
	skipFunction string
}

// A stretch is the time between two dates, both interpreted as of today.
type stretch struct{ start, end date }

// A verdict decides what happens to a job that is due. The zero value runs it.
type verdict struct {
	skip     string    // reason not to run
	hold     bool      // stays due until opens
	opens    time.Time // civil time; zero means never
	again    time.Time // civil time of a run instead; zero means never
	function string    // function to run instead
	err      string
}

func (r reader) readWindows(name string, raw *data.Map) (w windows, err error) {
	w = windows{runAfter: data.Truth(raw.Value("run_after_skip_range")),
		skipFunction: r.globals.skipFunction}
	if v, ok := raw.Get("range"); ok {
		m, isMap := v.(*data.Map)
		if !isMap {
			return w, fmt.Errorf("schedule.handle_func: Invalid, range must be specified as a dictionary.Ignoring job %s.", name) //nolint:staticcheck // Salt's text
		}
		w.invert = data.Truth(m.Value("invert"))
		if w.in, err = r.readStretch(m, "", name); err != nil {
			return w, err
		}
	}
	if w.skip, err = r.readSkip(name, raw); err != nil {
		return w, err
	}
	if w.explicit, err = readMoments(raw.Value("skip_explicit")); err != nil {
		return w, fmt.Errorf("skip_explicit: %w. Ignoring job %s.", err, name) //nolint:staticcheck // Salt's text
	}
	if w.until, err = r.readBound("until", name, raw); err != nil {
		return w, err
	}
	w.after, err = r.readBound("after", name, raw)
	return w, err
}

func (r reader) readSkip(name string, raw *data.Map) (*stretch, error) {
	v, ok := raw.Get("skip_during_range")
	if !ok {
		v = r.globals.skipRange
	}
	if !data.Truth(v) {
		return nil, nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("schedule.handle_func: Invalid, range must be specified as a dictionary. Ignoring job %s.", name) //nolint:staticcheck // Salt's text
	}
	return r.readStretch(m, " in skip_during_range", name)
}

func (r reader) readStretch(m *data.Map, where, name string) (*stretch, error) {
	start, err := r.readDate(m.Value("start"))
	if err != nil {
		return nil, fmt.Errorf("Invalid date string for start%s. Ignoring job %s.", where, name) //nolint:staticcheck // Salt's text
	}
	end, err := r.readDate(m.Value("end"))
	if err != nil {
		return nil, fmt.Errorf("Invalid date string for end%s. Ignoring job %s.", where, name) //nolint:staticcheck // Salt's text
	}
	return &stretch{start, end}, nil
}

func (r reader) readBound(key, name string, raw *data.Map) (*date, error) {
	v, ok := raw.Get(key)
	if !ok {
		return nil, nil
	}
	d, err := r.readDate(v)
	if err != nil {
		return nil, fmt.Errorf("Invalid date string for %s. Ignoring job %s.", key, name) //nolint:staticcheck // Salt's text
	}
	return &d, nil
}

// check decides about a job due at a moment, without splay, at clock time n; both are civil times.
func (w *windows) check(n, moment time.Time, name string) verdict {
	for _, judge := range []func(n, moment time.Time, name string) verdict{w.checkUntil, w.checkAfter, w.checkSkip, w.checkExplicit, w.checkRange} {
		if v := judge(n, moment, name); v.skip != "" || v.err != "" || v.function != "" {
			return v
		}
	}
	return verdict{}
}

// on returns the stretch as of n.
func (s *stretch) on(n time.Time, name string) (start, end time.Time, err string) {
	start, err1 := s.start.on(n)
	end, err2 := s.end.on(n)
	if err1 != nil || err2 != nil || !end.After(start) {
		err = fmt.Sprintf("schedule.handle_func: Invalid range, end must be larger than start. Ignoring job %s.", name)
	}
	return start, end, err
}

func (w *windows) checkRange(n, _ time.Time, name string) verdict {
	if w.in == nil {
		return verdict{}
	}
	start, end, err := w.in.on(n, name)
	inside := !n.Before(start) && !n.After(end)
	switch {
	case err != "":
		return verdict{err: err}
	case w.invert && n.After(start) && n.Before(end):
		return verdict{skip: inSkipRange, hold: true, opens: end}
	case w.invert || inside:
		return verdict{}
	case w.skipFunction != "":
		return verdict{function: w.skipFunction}
	}
	opens, _ := w.in.start.next(n)
	return verdict{skip: notInRange, hold: true, opens: opens}
}

func (w *windows) checkSkip(n, _ time.Time, name string) verdict {
	if w.skip == nil {
		return verdict{}
	}
	start, end, err := w.skip.on(n, name)
	switch {
	case err != "":
		return verdict{err: err}
	case n.Before(start) || n.After(end):
		return verdict{}
	case w.skipFunction != "":
		return verdict{function: w.skipFunction}
	}
	v := verdict{skip: inSkipRange}
	if w.runAfter {
		v.again = end.Add(loopInterval)
	}
	return v
}

// checkExplicit compares with the moment, which is shown to operators, and with the clock, which
// Salt uses.
func (w *windows) checkExplicit(n, moment time.Time, _ string) verdict {
	for _, d := range w.explicit {
		t, err := d.on(n)
		for _, at := range []time.Time{n, moment} {
			if err == nil && !at.Before(t) && !at.After(t.Add(loopInterval)) {
				if w.skipFunction != "" {
					return verdict{function: w.skipFunction}
				}
				return verdict{skip: skipExplicit}
			}
		}
	}
	return verdict{}
}

func (w *windows) checkUntil(n, _ time.Time, name string) verdict {
	if w.until == nil {
		return verdict{}
	}
	t, err := w.until.on(n)
	switch {
	case err != nil:
		return verdict{err: fmt.Sprintf("Invalid date string for until. Ignoring job %s.", name)}
	case !t.After(n):
		return verdict{skip: untilPassed}
	}
	return verdict{}
}

func (w *windows) checkAfter(n, _ time.Time, name string) verdict {
	if w.after == nil {
		return verdict{}
	}
	t, err := w.after.on(n)
	switch {
	case err != nil:
		return verdict{err: fmt.Sprintf("Invalid date string for after. Ignoring job %s.", name)}
	case !t.Before(n):
		return verdict{skip: afterNotPassed}
	}
	return verdict{}
}

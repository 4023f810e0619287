package schedule

import (
	"time"

	"github.com/brineproject/brine/data"
)

// A work is a job of the schedule with its state.
type work struct {
	name string
	raw  *data.Map // as configured; nil for a task
	spec *spec
	task *Task // nil for a job
	sum  string

	pace  pace    // nil if it is never due by itself
	extra *course // run_explicit; may be nil
	err   string  // reason why it is ignored, or ""

	atStart bool      // run_on_start is pending
	held    bool      // due, but outside of its range
	opens   time.Time // instant at which the range begins; zero means never
	fault   string    // error in its windows when it was last due
	state   record
}

// A record is the history of a job.
type record struct {
	lastRun   time.Time // wall clock; zero means never
	skip      string    // reason of the last skip since the last run
	skippedAt time.Time
	skips     int64 // skipped runs since the start
}

// on reports whether the job is enabled.
func (w *work) on(g globals) bool {
	return w.err == "" && (w.task != nil || g.enabled && w.spec.enabled)
}

// begin starts to count from now.
func (w *work) begin(r reading) {
	if w.pace != nil {
		w.pace.restart(r)
	}
	if w.extra != nil {
		w.extra.restart(r)
	}
}

// idle skips moments without running.
func (w *work) idle(r reading) {
	w.held = false
	if w.pace != nil {
		w.pace.idle(r)
	}
	if w.extra != nil {
		w.extra.idle(r)
	}
}

// wait returns how long the job needs no attention.
func (w *work) wait(r reading) (d time.Duration, ok bool) {
	switch {
	case w.held:
		d, ok = lookAgain, true
		if !w.opens.IsZero() {
			d = min(max(w.opens.Sub(r.wall), 0), lookAgain)
		}
	case w.pace != nil:
		d, ok = w.pace.wait(r)
	}
	if w.extra != nil {
		if e, there := w.extra.wait(r); there && (!ok || e < d) {
			return e, true
		}
	}
	return d, ok
}

// follows takes over state from an older version of the same job. If only its windows have changed,
// it keeps its pace.
func (w *work) follows(old *work, r reading) {
	w.state = old.state
	if w.sum == old.sum && w.err == "" && old.err == "" {
		w.atStart = old.atStart
		w.pace, w.held, w.opens = old.pace, old.held, old.opens
	} else if w.pace != nil {
		w.pace.restart(r)
	}
	switch {
	case w.extra != nil && old.extra != nil:
		rule := w.extra.rule
		w.extra = old.extra
		w.extra.retarget(rule, r)
	case w.extra != nil:
		w.extra.restart(r)
	}
}

// view returns the job as shown to operators, with the fields that Salt's scheduler adds.
func (w *work) view(g globals, place *time.Location, r reading) any {
	m, _ := data.Clone(w.raw).(*data.Map)
	if w.task != nil {
		m = w.task.view()
	}
	if !m.Has("name") {
		m.Set("name", w.name)
	}
	if !w.state.lastRun.IsZero() && w.task == nil && w.spec.call.JIDInclude {
		setNew(m, "jid_include", true)
		setNew(m, "maxrunning", int64(w.spec.call.MaxRunning))
	}
	w.viewTimes(m, place, r)
	w.viewSkips(m, g, place, r)
	if err := w.err + w.fault; err != "" {
		m.Set("_error", err)
	}
	return m
}

func setNew(m *data.Map, key string, v any) {
	if !m.Has(key) {
		m.Set(key, v)
	}
}

func (w *work) viewTimes(m *data.Map, place *time.Location, r reading) {
	m.Set("_next_fire_time", nil)
	m.Set("_splay", nil)
	if w.pace != nil && w.err == "" {
		if at, left := w.pace.due(r); left {
			m.Set("_next_fire_time", civil(at, place))
			m.Set("_next_scheduled_fire_time", civil(at, place))
			if d := w.pace.delay(); d > 0 {
				m.Set("_splay", civil(at.Add(d), place))
			}
		}
	}
	if w.spec != nil && w.spec.every > 0 {
		m.Set("_seconds", int64(w.spec.every/time.Second))
	}
	if !w.state.lastRun.IsZero() {
		m.Set("_last_run", civil(w.state.lastRun, place))
	}
}

func (w *work) viewSkips(m *data.Map, g globals, place *time.Location, r reading) {
	reason, at := w.state.skip, w.state.skippedAt
	if w.err == "" && !w.on(g) {
		reason, at = disabled, r.wall
	}
	if reason != "" {
		m.Set("_skipped", true)
		m.Set("_skip_reason", reason)
		m.Set("_skipped_time", civil(at, place))
	}
	if w.state.skips > 0 {
		m.Set("_skip_count", w.state.skips)
	}
}

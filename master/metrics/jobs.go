package metrics

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
)

// Limits on the functions and states with labels of their own; further ones are counted as other.
// Published and scheduled calls have separate limits, and each minion's schedule adds only a few,
// so no minion can use up the limit with invented names.
const (
	maxCalls     = 1000 // of published jobs and runners
	maxScheduled = 500  // of schedules
	maxOwn       = 16   // of one minion's schedule
)

// maxReturn is the maximum size, in bytes, of a state run's return that is examined.
const maxReturn = 4 << 20

// jobs counts jobs and returns. It is not safe for concurrent use.
type jobs struct {
	now           func() time.Time
	minion        bool // counters of functions have the label minion
	calls         map[call]bool
	scheduleCalls map[call]bool
	own           map[string]int // number of calls that each minion's schedule added, by id
	started       *prometheus.CounterVec
	expected      *prometheus.CounterVec
	responses     *prometheus.CounterVec
	scheduled     *prometheus.CounterVec
	returns       *prometheus.CounterVec
	status        *prometheus.GaugeVec
	duration      *prometheus.GaugeVec
	heartbeat     *prometheus.GaugeVec
	heard         *prometheus.GaugeVec
}

// A call is a function, with the state that it is about if there is one.
type call struct{ fun, state string }

func newJobs(r *prometheus.Registry, o Options) *jobs {
	j := &jobs{
		now:           o.Now,
		minion:        o.MinionLabel,
		calls:         map[call]bool{},
		scheduleCalls: map[call]bool{},
		own:           map[string]int{},
	}
	of := []string{"function", "state"}
	result := append(of, "success")
	if o.MinionLabel {
		result = append(result, "minion")
	}
	j.started = counter("salt_new_job_total", "Total number of new jobs processed", of)
	j.expected = counter("salt_expected_responses_total",
		"Total number of expected minions responses", of)
	j.responses = counter("salt_function_responses_total",
		"Total number of responses per function processed", result)
	j.scheduled = counter("salt_scheduled_job_return_total",
		"Total number of scheduled job responses", result)
	j.returns = counter("salt_responses_total", "Total number of responses",
		[]string{"minion", "success"})
	j.status = gauge("salt_function_status", "Last function/state success, 0=Failed, 1=Success",
		[]string{"minion", "function", "state"})
	duration := of
	if o.MinionLabel {
		duration = append(of, "minion")
	}
	j.duration = gauge("salt_job_duration_seconds",
		"Last duration of a Salt job in seconds", duration)
	j.heartbeat = gauge("salt_health_last_heartbeat", "Last status beacon received. Unix timestamp",
		[]string{"minion"})
	j.heard = gauge("salt_responses_last_received_response",
		"Last event received from a minion. Unix timestamp", []string{"minion"})
	r.MustRegister(j.started, j.expected, j.responses, j.scheduled, j.returns, j.status, j.duration,
		j.heartbeat, j.heard)
	return j
}

func counter(name, help string, labels []string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels []string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// count counts one event. Jobs of masters, which are runners, count as those of minions.
func (j *jobs) count(e eventbus.Event) {
	parts := strings.Split(e.Tag, "/")
	if len(parts) < 2 {
		return
	}
	fields, err := payload.ParseFields(e.Data, payload.WireLimits())
	if err != nil {
		return
	}
	switch {
	case parts[1] == "key":
		j.key(fields)
	case parts[1] == "beacon" && len(parts) > 3:
		j.beacon(parts[2], parts[3])
	case len(parts) == 4 && parts[3] == "new":
		j.job(fields)
	case len(parts) > 3 && parts[3] == "ret":
		j.ret(fields)
	}
}

// key drops the metrics of a minion whose key was deleted.
func (j *jobs) key(fields payload.Fields) {
	if act, _ := fields.Text("act"); act != "delete" {
		return
	}
	id, _ := fields.Text("id")
	of := prometheus.Labels{"minion": id}
	j.returns.DeletePartialMatch(of)
	j.status.DeletePartialMatch(of)
	j.heartbeat.DeletePartialMatch(of)
	j.heard.DeletePartialMatch(of)
	if j.minion {
		j.responses.DeletePartialMatch(of)
		j.scheduled.DeletePartialMatch(of)
		j.duration.DeletePartialMatch(of)
	}
}

// beacon records a sign of life.
func (j *jobs) beacon(id, name string) {
	now := float64(j.now().Unix())
	if name == "status" {
		j.heartbeat.WithLabelValues(id).Set(now)
	}
	j.heard.WithLabelValues(id).Set(now)
}

func (j *jobs) job(fields payload.Fields) {
	c := j.published(fields)
	j.started.WithLabelValues(c.fun, c.state).Inc()
	minions, _ := fields.Value("minions").([]any)
	j.expected.WithLabelValues(c.fun, c.state).Add(float64(len(minions)))
}

func (j *jobs) ret(fields payload.Fields) {
	id, _ := fields.Text("id")
	c := j.returned(fields, id)
	ok, _ := fields.Bool("success")
	run, isRun := stateRun(c.fun, fields)
	into := j.responses
	if fields.Has("schedule") {
		into = j.scheduled
		ok = ok && !data.Truth(fields.Value("retcode")) && (!isRun || run.ok)
	}
	labels := []string{c.fun, c.state, strconv.FormatBool(ok)}
	if j.minion {
		labels = append(labels, id)
	}
	into.WithLabelValues(labels...).Inc()
	j.returns.WithLabelValues(id, strconv.FormatBool(ok)).Inc()
	j.heard.WithLabelValues(id).Set(float64(j.now().Unix()))
	if c.state == "highstate" {
		j.status.WithLabelValues(id, c.fun, c.state).Set(boolValue(ok))
	}
	if isRun && run.seconds > 0 {
		labels := []string{c.fun, c.state}
		if j.minion {
			labels = append(labels, id)
		}
		j.duration.WithLabelValues(labels...).Set(run.seconds)
	}
}

func boolValue(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

var name = regexp.MustCompile(`^[A-Za-z0-9_.,/-]*$`)

// isName reports whether s is valid as a name of a function or state.
func isName(s string) bool { return len(s) <= 100 && name.MatchString(s) }

// other is the call for everything without labels of its own.
func other() call { return call{fun: "other"} }

// published returns the call under which a published job is counted.
func (j *jobs) published(fields payload.Fields) call {
	c := callOf(fields)
	if !j.calls[c] {
		if len(j.calls) >= maxCalls {
			return other()
		}
		j.calls[c] = true
	}
	return c
}

// returned returns the call under which a return is counted: that of a published job, or of the
// minion's schedule.
func (j *jobs) returned(fields payload.Fields, id string) call {
	c := callOf(fields)
	if j.calls[c] || j.scheduleCalls[c] {
		return c
	}
	if !fields.Has("schedule") || c == other() || len(j.scheduleCalls) >= maxScheduled ||
		j.own[id] >= maxOwn {
		return other()
	}
	j.own[id]++
	j.scheduleCalls[c] = true
	return c
}

// callOf returns the function of a job or return, and the state that it is about.
func callOf(fields payload.Fields) call {
	fun, ok := fields.Text("fun")
	if !ok {
		return other() // several functions
	}
	c := call{fun, stateOf(fun, fields)}
	if !isName(c.fun) || !isName(c.state) {
		return other()
	}
	return c
}

// stateOf returns the state that a function of module state is about, as salt-exporter names it.
func stateOf(fun string, fields payload.Fields) string {
	switch fun {
	case "state.highstate":
		return "highstate"
	case "state.apply", "state.sls":
		if s, given := firstArg(fields, "mods"); given || fun == "state.sls" {
			return s
		}
		return "highstate"
	case "state.single":
		s, _ := firstArg(fields, "fun")
		return s
	}
	return ""
}

// firstArg returns the first argument if it is text, or the keyword argument. given reports whether
// there are arguments.
func firstArg(fields payload.Fields, keyword string) (text string, given bool) {
	for _, field := range []string{"arg", "fun_args"} {
		args, _ := fields.Value(field).([]any)
		if len(args) == 0 {
			continue
		}
		switch first := args[0].(type) {
		case string:
			return first, true
		case *data.Map:
			return first.Text(keyword), true
		}
		return "", true
	}
	return "", false
}

// A run is the result of a state run.
type run struct {
	ok      bool
	seconds float64
}

// stateRun parses the return of a state run.
func stateRun(fun string, fields payload.Fields) (run, bool) {
	if !strings.HasPrefix(fun, "state.") || len(fields.Raw("return")) > maxReturn {
		return run{}, false
	}
	states, isMap := fields.Value("return").(*data.Map)
	r := run{ok: true}
	for _, v := range states.All() {
		state, isState := v.(*data.Map)
		if !isState || !state.Has("result") {
			return run{}, false
		}
		if state.Value("result") == false {
			r.ok = false
		}
		ms, _ := state.Value("duration").(float64)
		r.seconds += ms / 1000
	}
	return r, isMap
}

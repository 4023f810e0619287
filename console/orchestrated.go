package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
)

// stepRows is how many states of a run a page shows.
const stepRows = 200

// A stepsPage shows one orchestration.
type stepsPage struct {
	ID, Fun, User, Start string
	What                 string
	State, Look          string
	Right                string // that lacks
	Args                 any    // nil if they are not known
	Text                 string // what it has returned instead of states
	Reason               string // why it has failed, if Text is long
	Steps                []runStep
	Counts               []stepCount
	Cut                  int    // steps that are left out
	Follow               string // address of the stream of the run's events; "" once it has ended
}

// A runStep is a state of an orchestration.
type runStep struct {
	ID, Anchor   string
	Fun, Name    string
	Comment      string
	Duration     string
	Result, Look string
	Job, JobHref string // that it has started
	Changes      *data.Map
	Open         bool
	order        int64
}

// A stepCount is how many states have ended in one way.
type stepCount struct {
	Result, Look string
	N            int
}

// orchestration shows one run.
func orchestration(q *request) error {
	jid := q.r.PathValue("jid")
	if _, err := job.ParseID(jid); err != nil {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "This is not the id of a job: " + clip(jid, 100)}
	}
	p := &stepsPage{ID: jid, Start: q.startMoment(jid).Text, Fun: "state.orchestrate"}
	done := q.runEvents(p)
	if done == nil {
		var err error
		if done, err = q.runRecord(p); err != nil {
			return err
		}
	}
	if done == nil {
		p.State, p.Look, p.Follow = "not ended, or not known", "", q.href("/stream", "job", jid)
		if p.What != "" || p.Args != nil {
			p.State, p.Look = "running", "change"
		}
	} else {
		q.fillRun(p, done)
	}
	return q.render(http.StatusOK, "orchestration", "Orchestration "+jid, p)
}

// runEvents looks for a run in the events that the hub keeps. It returns the data of its end, nil if
// they do not have it.
func (q *request) runEvents(p *stepsPage) (done *data.Map) {
	items, _ := q.Hub.Recent(stream.Filter{Tag: "salt/run/" + p.ID + "/", Job: p.ID, May: q.streams().May(q.caller)}, orchestrationEvents)
	for _, i := range items {
		m, err := i.Data()
		if err != nil {
			continue
		}
		switch strings.TrimPrefix(i.Tag(), "salt/run/"+p.ID+"/") {
		case "new":
			p.describe(m)
		case "ret":
			p.describe(m)
			done = m
		}
	}
	return done
}

// describe takes what is known of a run whatever its result.
func (p *stepsPage) describe(m *data.Map) {
	p.Fun = cmp.Or(strings.TrimPrefix(m.Text("fun"), "runner."), p.Fun)
	p.User = cmp.Or(m.Text("user"), p.User)
	if args, ok := m.Value("fun_args").([]any); ok && len(args) > 0 {
		p.Args = givenArgs(args)
		p.What = cmp.Or(modsOf(args), p.What)
	}
}

// givenArgs returns the arguments of a run without those that are None, as parameters are that were not
// given.
func givenArgs(args []any) []any {
	var given []any
	for _, a := range args {
		m, ok := a.(*data.Map)
		if !ok {
			given = append(given, a)
			continue
		}
		words := data.NewMap()
		for k, v := range m.All() {
			if v != nil {
				words.Set(k, v)
			}
		}
		if words.Len() > 0 {
			given = append(given, words)
		}
	}
	return given
}

// runRecord looks for a run in the history of jobs. It returns the data of its end, nil if it has none.
func (q *request) runRecord(p *stepsPage) (*data.Map, error) {
	v, err := q.runner("jobs.list_job", "jid", p.ID)
	switch {
	case refused(err):
		p.Right = "jobs.list_job"
		return nil, nil
	case err != nil:
		return nil, err
	}
	record, _ := v.(*data.Map)
	if fun := record.Text("Function"); fun != "" && !isOrchestration(fun) {
		return nil, &netapi.Fault{Status: http.StatusNotFound, Text: "Job " + p.ID + " is no orchestration, but " + fun + "."}
	}
	all, _ := record.Value("Result").(*data.Map)
	for _, v := range all.All() {
		ret, _ := v.(*data.Map)
		if body, ok := ret.Value("return").(*data.Map); ok {
			p.describe(body)
			return body, nil
		}
	}
	return nil, nil
}

// fillRun sets the result of a run: the states of the master, each a step.
func (q *request) fillRun(p *stepsPage, done *data.Map) {
	p.State, p.Look = runResult(done)
	ret := done.Value("return")
	states := statesOf(ret)
	if states == nil {
		p.Text = textOf(ret)
		if reason := reasonIn(p.Text); reason != strings.TrimSpace(p.Text) {
			p.Reason = reason
		}
		return
	}
	for key, v := range states.All() {
		if m, ok := v.(*data.Map); ok {
			p.Steps = append(p.Steps, q.runStep(data.Str(key), m))
		}
	}
	slices.SortStableFunc(p.Steps, func(a, b runStep) int { return cmp.Compare(a.order, b.order) })
	for _, result := range []stepCount{{Result: "failed", Look: "bad"}, {Result: "changed", Look: "change"},
		{Result: "would change", Look: "change"}, {Result: "succeeded", Look: "good"}} {
		for _, s := range p.Steps {
			if s.Result == result.Result {
				result.N++
			}
		}
		if result.N > 0 {
			p.Counts = append(p.Counts, result)
		}
	}
	shown := p.Steps[:min(len(p.Steps), stepRows)]
	p.Steps, p.Cut = shown, len(p.Steps)-len(shown)
	for i := range p.Steps {
		p.Steps[i].Anchor = fmt.Sprintf("step-%d", i+1)
	}
}

// statesOf returns the states in what an orchestration has returned: below data and the id of the
// master, or only the latter. It is nil if there are none.
func statesOf(ret any) *data.Map {
	m, _ := ret.(*data.Map)
	if inner, ok := m.Value("data").(*data.Map); ok {
		m = inner
	}
	for _, v := range m.All() {
		if states, ok := v.(*data.Map); ok && looksLikeStates(states) {
			return states
		}
	}
	return nil
}

func looksLikeStates(m *data.Map) bool {
	for key, v := range m.All() {
		one, ok := v.(*data.Map)
		return ok && one.Has("result") && strings.Contains(data.Str(key), "_|-")
	}
	return false
}

// textOf returns what an orchestration has returned instead of states, such as why an SLS is wrong.
func textOf(ret any) string {
	m, ok := ret.(*data.Map)
	if !ok {
		return clip(optionText(ret), 20_000)
	}
	if inner, ok := m.Value("data").(*data.Map); ok {
		m = inner
	}
	var lines []string
	for _, v := range m.All() {
		if list, ok := v.([]any); ok {
			lines = append(lines, data.Texts(list)...)
		} else {
			lines = append(lines, data.Str(v))
		}
	}
	return clip(strings.Join(lines, "\n"), 20_000)
}

func (q *request) runStep(key string, m *data.Map) runStep {
	parts := strings.Split(key, "_|-")
	s := runStep{ID: m.Text("__id__"), Name: data.Str(m.Value("name")), Comment: commentText(m.Value("comment"))}
	if len(parts) == 4 {
		s.ID, s.Fun = cmp.Or(s.ID, parts[1]), parts[0]+"."+parts[3]
	}
	if s.Name == s.ID {
		s.Name = ""
	}
	s.order, _ = m.Value("__run_num__").(int64)
	if d := m.Value("duration"); d != nil {
		s.Duration = strings.TrimSuffix(data.Str(d), " ms") + " ms"
	}
	s.Changes, _ = m.Value("changes").(*data.Map)
	s.Result, s.Look = stepResult(m.Value("result"), s.Changes.Len() > 0)
	s.Open = s.Result == "failed"
	if jid := data.Str(m.Value("__jid__")); m.Value("__jid__") != nil {
		s.Job, s.JobHref = jid, q.href("/jobs/"+url.PathEscape(jid))
	}
	return s
}

func stepResult(result any, changed bool) (word, look string) {
	switch {
	case result == nil:
		return "would change", "change"
	case !data.Truth(result):
		return "failed", "bad"
	case changed:
		return "changed", "change"
	}
	return "succeeded", "good"
}

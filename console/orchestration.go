package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
)

// stepRows is how many states of a run a page shows.
const stepRows = 200

// stepMinions is how many minions of a state a page shows; the page of its job has all.
const stepMinions = 20

// An orchestrationPage shows one orchestration.
type orchestrationPage struct {
	ID, Fun, User string
	Started       moment
	What          string // its SLS, if that is known
	Word, Class   string // what became of it, and the class of its badge
	Missing       string // the right that lacks
	Args          []string
	Text          string // what it has returned instead of states
	Reason        string // why it has failed, if Text is long
	Steps         []step
	Counts        []stepCount
	Cut           int    // steps that are left out
	Follow        string // address of the stream of the run's events; "" once it has ended
}

// A step is a state of an orchestration.
type step struct {
	*stateRow
	Anchor       string
	Job, JobHref string // that it has started
	Open         bool
	Returns      []stepReturn // of minions, if its changes are these
}

// A stepReturn is what a minion has returned in a step.
type stepReturn struct {
	ID, Anchor string
	*outcome
}

// A stepCount is how many states have ended in one way.
type stepCount struct {
	Word, Class string
	N           int
}

// orchestration shows one run.
func orchestration(q *request) error {
	jid := q.r.PathValue("jid")
	if _, err := job.ParseID(jid); err != nil {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "This is not the id of a job: " + clip(jid, 100)}
	}
	p := &orchestrationPage{ID: jid, Started: q.startMoment(jid), Fun: "state.orchestrate"}
	done := p.findEvents(q)
	if done == nil {
		var err error
		if done, err = p.findRecord(q.ask); err != nil {
			return err
		}
	}
	if done == nil {
		p.Word, p.Follow = "not ended, or not known", q.href("/stream", "job", jid)
		if p.What != "" || p.Args != nil {
			p.Word, p.Class = "running", "change"
		}
	} else {
		p.fill(q, done)
	}
	return q.render(http.StatusOK, "orchestration", "Orchestration "+cmp.Or(p.What, jid), p)
}

// findEvents looks for a run in the events that the hub keeps. It returns the data of its end, nil if
// they do not have it.
func (p *orchestrationPage) findEvents(q *request) (done *data.Map) {
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
func (p *orchestrationPage) describe(m *data.Map) {
	p.Fun = cmp.Or(strings.TrimPrefix(m.Text("fun"), "runner."), p.Fun)
	p.User = cmp.Or(m.Text("user"), p.User)
	if args, ok := m.Value("fun_args").([]any); ok && len(args) > 0 {
		p.Args = argumentLines(givenArgs(args))
		p.What = cmp.Or(modsOf(args), p.What)
	}
}

// givenArgs returns the arguments of a run, a dictionary being those by name, without those that are None, as
// parameters are that were not given.
func givenArgs(args []any) []any {
	var given []any
	for _, a := range args {
		m, ok := a.(*data.Map)
		if !ok {
			given = append(given, a)
			continue
		}
		words := data.NewMap(kwargMark, true)
		for k, v := range m.All() {
			if v != nil {
				words.Set(k, v)
			}
		}
		if words.Len() > 1 {
			given = append(given, words)
		}
	}
	return given
}

// findRecord looks for a run in the history of jobs. It returns the data of its end, nil if it has none.
func (p *orchestrationPage) findRecord(ask *asker) (*data.Map, error) {
	v, err := ask.runner("jobs.list_job", "jid", p.ID)
	switch {
	case refused(err):
		p.Missing = "jobs.list_job"
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

// fill sets the result of a run: the states of the master, each a step.
func (p *orchestrationPage) fill(q *request, done *data.Map) {
	p.Word, p.Class = runResult(done)
	ret := done.Value("return")
	run := masterStates(ret)
	if run == nil {
		p.Text = textOf(ret)
		if reason := reasonIn(p.Text); reason != strings.TrimSpace(p.Text) {
			p.Reason = reason
		}
		return
	}
	counts := map[string]int{}
	for i, row := range run.rows() {
		s := stepOf(q, row)
		counts[s.Word]++
		if i == stepRows {
			p.Cut = run.Total - stepRows
		}
		if i < stepRows {
			s.Anchor = fmt.Sprintf("step-%d", i+1)
			s.Returns = stepReturns(q, s)
			p.Steps = append(p.Steps, s)
		}
	}
	for _, word := range []stepCount{{Word: "failed", Class: "bad"}, {Word: "not run", Class: "bad"},
		{Word: "changed", Class: "change"}, {Word: "would change", Class: "change"}, {Word: succeeded, Class: "good"}} {
		if word.N = counts[word.Word]; word.N > 0 {
			p.Counts = append(p.Counts, word)
		}
	}
}

// succeeded is the word for an orchestration, or for a step of it.
const succeeded = "succeeded"

// stepOf returns the step of a state. A state of an orchestration that has changed nothing has run, as other
// states have that are called unchanged.
func stepOf(q *request, row *stateRow) step {
	s := step{stateRow: row, Open: row.Class == "bad", Job: row.job}
	if row.Class == "" {
		s.Word, s.Class = succeeded, "good"
	}
	if row.Name == row.ID {
		row.Name = ""
	}
	if s.Job != "" {
		s.JobHref = q.href(jobPath(s.Job))
	}
	return s
}

// stepReturns returns what the minions of a step have returned; none if it is no step on minions.
func stepReturns(q *request, s step) []stepReturn {
	m, _ := s.changes.(*data.Map)
	returns, ok := m.Value("ret").(*data.Map)
	if !ok || s.Fun != "salt.state" && s.Fun != "salt.function" {
		return nil
	}
	var list []stepReturn
	for _, id := range slices.Sorted(slices.Values(data.Texts(returns.Keys())))[:min(returns.Len(), stepMinions)] {
		one := stepReturn{ID: id, Anchor: s.Anchor + "-" + id}
		one.outcome = outcomeOn("", id, data.NewMap("return", returns.Value(id)))
		one.Raw = q.href(jobPath(s.Job, id), "raw", "1")
		list = append(list, one)
	}
	return list
}

// masterStates returns the states in what an orchestration has returned: below data and the id of the
// master, or only the latter. It is nil if there are none.
func masterStates(ret any) *stateRun {
	m, _ := ret.(*data.Map)
	if inner, ok := m.Value("data").(*data.Map); ok {
		m = inner
	}
	for id, v := range m.All() {
		if run := stateRunOf("", data.Str(id), v); run != nil {
			return run
		}
	}
	return nil
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

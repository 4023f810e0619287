package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/yaml"
)

const (
	orchestrationRows   = 50
	orchestrationEvents = 1000 // events of runners that are looked at
)

// An orchestrationsPage lists orchestrations, and has the form that starts one.
type orchestrationsPage struct {
	pager
	Runs    []orchestrationRun
	Missing string // the right that lacks
	Form    orchestrationForm
}

// An orchestrationForm starts an orchestration.
type orchestrationForm struct {
	Mods, Saltenv, Pillar string
	Test                  bool
	Fault                 string
}

// An orchestrationRun is one run in the list.
type orchestrationRun struct {
	ID, Href          string
	Fun, Start, User  string
	What              string // its SLS, where it is known
	Word, Class       string // how it has ended, where that is known
	began, ended, run bool
}

// isOrchestration reports whether a function, as the history of jobs or an event names it, runs an
// orchestration.
func isOrchestration(fun string) bool {
	name := strings.TrimPrefix(fun, "runner.")
	return slices.Contains([]string{"state.orchestrate", "state.orch", "state.sls", "state.orchestrate_single", "state.orchestrate_high"},
		name) && name != fun
}

// orchestrations lists the runs of the history of jobs and those that go on.
func orchestrations(q *request) error {
	p := &orchestrationsPage{Form: orchestrationForm{Saltenv: "base"}}
	if err := p.list(q); err != nil {
		return err
	}
	return q.render(http.StatusOK, "orchestrations", "Orchestrations", p)
}

// list sets a page of runs. The history has those that have ended, and their functions;
// the events that the hub keeps have those that go on, and results.
func (p *orchestrationsPage) list(q *request) error {
	p.ByTime = true
	before := q.r.URL.Query().Get("before")
	v, err := q.ask.runner("jobs.list_jobs", "search_function", "runner.state.*")
	runs := map[string]*orchestrationRun{}
	switch history, ok := v.(*data.Map); {
	case refused(err):
		p.Missing = "jobs.list_jobs"
		return nil
	case err != nil:
		return err
	case !ok:
		return badAnswer(http.StatusBadGateway, "The history of jobs cannot be read", v)
	default:
		for id, v := range history.All() {
			if one, ok := v.(*data.Map); ok && isOrchestration(one.Text("Function")) {
				jid := data.Str(id)
				runs[jid] = &orchestrationRun{ID: jid, Fun: one.Text("Function"), User: one.Text("User"), run: true}
			}
		}
	}
	recentRuns(q, runs)
	ids := slices.Sorted(maps.Keys(runs))
	slices.Reverse(ids)
	for _, id := range ids {
		if before != "" && id >= before {
			continue
		}
		if len(p.Runs) == orchestrationRows {
			p.Next = q.href("/orchestrations", "before", p.Runs[len(p.Runs)-1].ID)
			break
		}
		p.Runs = append(p.Runs, shownRun(q, runs[id]))
	}
	if before != "" {
		p.First = q.href("/orchestrations")
	}
	return nil
}

// recentRuns adds what the events of runners say.
func recentRuns(q *request, runs map[string]*orchestrationRun) {
	items, _ := q.Hub.Recent(stream.Filter{Tag: "salt/run/", May: q.streams().May(q.caller)}, orchestrationEvents)
	for _, i := range items {
		parts := strings.Split(i.Tag(), "/")
		if len(parts) != 4 || parts[3] != "new" && parts[3] != "ret" {
			continue
		}
		m, err := i.Data()
		if err != nil || !isOrchestration(m.Text("fun")) {
			continue
		}
		jid := parts[2]
		one := runs[jid]
		if one == nil {
			one = &orchestrationRun{ID: jid, Fun: m.Text("fun"), User: m.Text("user")}
			runs[jid] = one
		}
		one.What = cmp.Or(one.What, modsOf(m.Value("fun_args")))
		one.began = one.began || parts[3] == "new"
		if parts[3] == "ret" {
			one.ended = true
			one.Word, one.Class = runResult(m)
		}
	}
}

// shownRun completes a run for the list.
func shownRun(q *request, one *orchestrationRun) orchestrationRun {
	one.Href = q.href("/orchestrations/" + url.PathEscape(one.ID))
	one.Start = q.startMoment(one.ID).Text
	one.Fun = strings.TrimPrefix(one.Fun, "runner.")
	if one.began && !one.ended && !one.run {
		one.Word, one.Class = "running", "change"
	}
	return *one
}

// modsOf returns the SLS that the arguments of an orchestration name.
func modsOf(args any) string {
	list, _ := args.([]any)
	for _, a := range list {
		switch a := a.(type) {
		case *data.Map:
			if v := a.Value("mods"); v != nil {
				return strings.Join(data.TextsOf(v), ", ")
			}
		case string, []any:
			return strings.Join(data.TextsOf(a), ", ")
		}
	}
	return ""
}

// runResult returns how a run has ended, by the data of its event or of its return.
func runResult(m *data.Map) (state, look string) {
	failed := m.Value("success") == false
	if ret, ok := m.Value("return").(*data.Map); ok && ret.Has("retcode") {
		failed = failed || data.Truth(ret.Value("retcode"))
	}
	if failed {
		return "failed", "bad"
	}
	return succeeded, "good"
}

// startOrchestration starts an orchestration, and shows it.
func startOrchestration(q *request) error {
	form := q.r.PostForm
	f := orchestrationForm{Mods: strings.TrimSpace(form.Get("mods")), Saltenv: strings.TrimSpace(form.Get("saltenv")),
		Pillar: form.Get("pillar"), Test: form.Get("test") != ""}
	words, err := f.words()
	if err != nil {
		f.Fault = err.Error()
		p := &orchestrationsPage{Form: f}
		if err := p.list(q); err != nil {
			return err
		}
		return q.render(http.StatusBadRequest, "orchestrations", "Orchestrations", p)
	}
	v, err := q.ask.order(data.NewMap("client", "runner_async", "fun", "state.orchestrate", "kwarg", words))
	if err != nil {
		return err
	}
	begun, _ := v.(*data.Map)
	jid := begun.Text("jid")
	if jid == "" {
		return badAnswer(http.StatusBadGateway, "The orchestration has not begun", v)
	}
	q.notify("The orchestration of " + f.Mods + " has begun.")
	return q.redirect("/orchestrations/" + url.PathEscape(jid))
}

// words returns the arguments of state.orchestrate. The error is for the user.
func (f *orchestrationForm) words() (*data.Map, error) {
	if f.Mods == "" {
		return nil, &netapi.Fault{Text: "Name at least one SLS."}
	}
	words := data.NewMap("mods", f.Mods)
	if f.Saltenv != "" {
		words.Set("saltenv", f.Saltenv)
	}
	if strings.TrimSpace(f.Pillar) != "" {
		v, err := yaml.Load([]byte(f.Pillar), yaml.Options{Name: "the pillar"})
		if err != nil {
			return nil, &netapi.Fault{Text: "The pillar is no YAML: " + err.Error()}
		}
		m, ok := v.(*data.Map)
		if !ok {
			return nil, &netapi.Fault{Text: "The pillar must be a dictionary, such as version: 7."}
		}
		words.Set("pillar", m)
	}
	if f.Test {
		words.Set("test", true)
	}
	return words, nil
}

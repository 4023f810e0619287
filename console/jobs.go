package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/netapi/web"
)

// A jobsPage lists past and running jobs.
type jobsPage struct {
	pager
	Function, User, Target, Minion string // filters
	Before                         string
	All                            bool // also what pages and programs only look up
	Rows                           []*historyRow
	Note                           string
	// Ask is the address that asks the minions which jobs run, for a master that does not know it.
	Ask string
}

// A historyRow is one job of the history.
type historyRow struct {
	*jobRecord
	Href        string // the page of the job, or of the orchestration
	When        moment
	Word, Class string // its state; "" if it is unknown
	Line        string // its arguments
}

const historySize = 100

// history shows the jobs, the newest first.
func history(q *request) error {
	query := q.r.URL.Query()
	p := &jobsPage{pager: pager{ByTime: true}, Function: query.Get("function"), User: query.Get("user"),
		Target: query.Get("target"), Minion: query.Get("minion"), Before: query.Get("before"), All: query.Get("all") != ""}
	list, err := p.list(q)
	if refused(err) {
		p.Note = "You lack the right @runner to jobs.list_jobs, which lists the jobs."
		return q.render(http.StatusOK, "jobs", "Jobs", p)
	}
	if err != nil {
		return err
	}
	p.Rows = list[:min(len(list), historySize)]
	filters := []string{"function", p.Function, "user", p.User, "target", p.Target, "minion", p.Minion, "all", query.Get("all")}
	if len(list) > historySize {
		p.Next = q.href("/jobs", append(filters, "before", p.Rows[historySize-1].JID)...)
	}
	if p.Before != "" {
		p.First = q.href("/jobs", filters...)
	}
	if !slices.ContainsFunc(p.Rows, func(r *historyRow) bool { return r.Word != "" }) && len(p.Rows) > 0 {
		p.Ask = q.href("/jobs", append(filters, "before", p.Before, "running", "1")...)
	}
	if query.Has("running") {
		p.markRunning(q.ask)
	}
	return q.render(http.StatusOK, "jobs", "Jobs", p)
}

// questions are the functions of jobs that only ask what a page or a program needs to know.
func questions() []string {
	return []string{"saltutil.find_job", "saltutil.running", "sys.*", "runner.jobs.*", "runner.manage.*", "runner.cache.*",
		"runner.queue.list*", "wheel.key.list*", "wheel.key.finger*", "wheel.minions.pillar", "runner.config.get",
		"schedule.list", "schedule.show_next_fire_time"}
}

// selection is what absences calls that jobs.list_jobs selects, which only Brine's does.
const selection = "jobs.list_jobs with limit"

// list returns the jobs of a page, and one more if there are further ones. A master of Salt cannot
// select, and gives all.
func (p *jobsPage) list(q *request) ([]*historyRow, error) {
	var without any
	if !p.All {
		without = data.Values(questions())
	}
	var v any
	var err error
	var m *data.Map
	var ok bool
	if !q.ask.lacks(selection) {
		v, err = q.ask.runner("jobs.list_jobs", "search_function", orNone(p.Function),
			"search_target", orNone(p.Target), "search_user", orNone(p.User), "search_minion", orNone(p.Minion),
			"before", orNone(p.Before), "limit", int64(historySize+1), "progress", true, "without_function", without)
		if m, ok = v.(*data.Map); err == nil && ok {
			return historyRows(q, m), nil
		}
		if refused(err) {
			return nil, err
		}
		if text, _ := v.(string); strings.Contains(text, "unexpected keyword argument") {
			q.ask.note(selection)
		}
	}
	if v, err = q.ask.runner("jobs.list_jobs"); err != nil {
		return nil, err
	}
	filter, err := web.ParseJobFilter(q.r.URL.Query())
	if err != nil {
		return nil, err
	}
	if m, ok = filter.Apply(v).(*data.Map); !ok {
		return nil, badAnswer(http.StatusBadGateway, "The jobs cannot be listed", v)
	}
	rows := historyRows(q, m)
	if !p.All {
		rows = slices.DeleteFunc(rows, func(r *historyRow) bool { return isQuestion(r.Fun) })
	}
	return rows, nil
}

// isQuestion reports whether a function only looks something up.
func isQuestion(fun string) bool {
	return slices.ContainsFunc(questions(), func(glob string) bool { return loader.Glob(glob, fun) })
}

func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// historyRows returns the rows of an answer of jobs.list_jobs, the newest first.
func historyRows(q *request, m *data.Map) []*historyRow {
	var rows []*historyRow
	for jid, v := range m.All() {
		one, ok := v.(*data.Map)
		if !ok {
			continue
		}
		row := &historyRow{jobRecord: recordOf(data.Str(jid), one)}
		row.Href = q.jobHref(row.JID, row.Fun)
		row.When = q.moment(row.Started)
		row.Line = clip(strings.Join(row.Args, " "), 160)
		if counts, ok := one.Value("Progress").(*data.Map); ok {
			row.Word, row.Class = progressWord(counts)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *historyRow) int { return strings.Compare(b.JID, a.JID) })
	return rows
}

// progressWord says in a word what became of a job.
func progressWord(counts *data.Map) (word, class string) {
	total, open, returned := 0, 0, number(counts.Value(stateReturned))
	for state, n := range counts.All() {
		total += number(n)
		if (progress{State: data.Str(state)}).Open() {
			open += number(n)
		}
	}
	word = strconv.Itoa(returned) + " of " + strconv.Itoa(total) + " returned"
	switch {
	case total == 0:
		return "", ""
	case returned == total:
		return word, "good"
	case open > 0:
		return word, "change"
	}
	return word, "bad"
}

// markRunning asks the minions which jobs they run.
func (p *jobsPage) markRunning(ask *asker) {
	v, err := ask.runner("jobs.active")
	active, ok := v.(*data.Map)
	if err != nil || !ok {
		p.Note = "Which jobs run is not known: the runner jobs.active does not say so."
		if refused(err) {
			p.Note = "You lack the right @runner to jobs.active, which asks which jobs run."
		}
		return
	}
	p.Ask = ""
	for _, row := range p.Rows {
		one, ok := active.Value(row.JID).(*data.Map)
		if !ok {
			row.Word = "ended"
			continue
		}
		row.Word, row.Class = "running on "+count(len(data.ListOf(one.Value("Running"))), "minion"), "change"
	}
}

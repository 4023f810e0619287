package console

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/netapi"
)

// A jobPage shows a job while it runs and afterwards.
type jobPage struct {
	*jobRecord
	pager
	Pending bool   // it has been sent and is not recorded yet
	Live    string // the address of the stream that renews the page; "" at the end
	Note    string
	Counts  []stateCount
	Total   int
	Done    int // minions of which nothing more is to be expected
	When    moment

	State, Minion string // filters
	States        []string
	Rows          []*jobRow
	Open          []*jobRow // whose results are on the page
	Shown         int       // minions that match the filters

	Groups      []resultGroup
	Running     int        // minions that may run the job
	Apply       *applyForm // of a test that can be applied; nil if there is nothing to apply
	QueueHref   string     // of a job that waits for absent minions; "" if it does not
	AskHref     string     // asks which minions run the job, for a master that does not know it
	AgainHref   string
	CompareHref string   // the comparison with the test that this job applies
	AppliedBy   []string // jobs that apply this test
}

// A stateCount is how many minions are in a state.
type stateCount struct {
	State, Class string
	N            int
	Href         string
}

// A jobRow is one minion of a job.
type jobRow struct {
	progress
	Outcome *outcome
	Href    string
	Age     moment
	Unfold  bool
}

// A resultGroup is a result that several minions have in common.
type resultGroup struct {
	N           int
	Text, Class string
	IDs         []string
	More        int
}

// Limits of the page of a job.
const (
	jobPageSize  = 100
	groupsShown  = 50
	groupMembers = 200
	inlineSize   = 512 << 10 // of all results on a page, in bytes
)

// showJob shows a job.
func showJob(q *request) error {
	jid := q.r.PathValue("jid")
	r, err := q.jobs.results(jid, nil)
	switch {
	case errors.Is(err, errNoJob) && soon(jid, q.Now()):
		p := &jobPage{jobRecord: &jobRecord{JID: jid}, Pending: true, Live: jobStream(q, jid)}
		return q.render(http.StatusOK, "job", "Job "+jid, p)
	case errors.Is(err, errNoJob):
		return noJob(jid)
	case err != nil:
		return err
	}
	if r.states == nil && q.r.URL.Query().Has("running") {
		q.jobs.askRunning(r)
	}
	list := r.progress(q.Now())
	p := newJobPage(q, r, list)
	rows := p.choose(q, list)
	if r.states != nil && anyReturned(rows) {
		if err := q.jobs.fill(r, jid, idsOf(rows)); err != nil {
			return err
		}
	}
	p.addRows(q, r, rows)
	return q.render(http.StatusOK, "job", "Job "+p.Fun, p)
}

// jobStream returns the address of the events of a job.
func jobStream(q *request, jid string) string { return q.href("/stream", "job", jid) }

// newJobPage returns the page of a job without its minions.
func newJobPage(q *request, r *results, list []progress) *jobPage {
	query := q.r.URL.Query()
	p := &jobPage{jobRecord: r.jobRecord, Note: r.note, State: query.Get("state"), Minion: query.Get("minion"), Total: len(list),
		When: q.moment(r.Started)}
	counts := map[string]int{}
	returned, last := 0, r.Started
	for _, one := range list {
		counts[one.State]++
		if !one.Open() && one.State != stateWaiting {
			p.Done++
		}
		if one.Returned() {
			returned++
		}
		if one.Open() && one.State != "queued" || one.State == stateSilent {
			p.Running++
		}
		if one.Since.After(last) {
			last = one.Since
		}
	}
	for _, state := range jobStates() {
		if n := counts[state]; n > 0 {
			p.Counts = append(p.Counts, stateCount{state, stateClass(state), n, q.href(r.Page(), "state", state)})
			p.States = append(p.States, state)
		}
	}
	begins := r.Batch != "" && (len(list) < r.Expect || counts[stateWaiting] > 0) && q.Now().Sub(last) < time.Minute // on further minions
	p.Total = max(p.Total, r.Expect)
	if p.Done+counts[stateWaiting] < len(list) || begins || len(list) == 0 && soon(r.JID, q.Now()) {
		p.Live = jobStream(q, r.JID)
	}
	if begins {
		p.Running = max(p.Running, 1)
	}
	if r.Test && returned > 0 {
		p.Apply = applyFormOf(list)
		if r.states != nil && p.Live == "" {
			p.AppliedBy = q.jobs.appliedBy(r.JID)
		}
	}
	if r.states == nil && p.Running > 0 {
		p.AskHref = q.href(r.Page(), "running", "1")
	}
	if counts["queued"] > 0 {
		p.QueueHref = q.href("/queue", "job", r.JID)
	}
	if r.TestOf != "" {
		p.CompareHref = q.href("/jobs/compare", "a", r.TestOf, "b", r.JID)
	}
	p.AgainHref = q.href("/run", "again", r.JID)
	p.Groups = groupsOf(r, list, returned)
	return p
}

// jobStates returns the states of a job on a minion in the order of the page.
func jobStates() []string {
	return []string{stateFailed, stateReturned, stateIdle, stateRunning, "acknowledged", "sent", stateWaiting, "queued",
		"not connected", stateSilent, "missed", "refused", "gone"}
}

// choose returns the minions of the page, by the filters of the query.
func (p *jobPage) choose(q *request, list []progress) []progress {
	after := q.r.URL.Query().Get("after")
	var rows []progress
	for _, one := range list {
		if p.State != "" && one.State != p.State || p.Minion != "" && !loader.Glob(p.Minion, one.ID) && one.ID != p.Minion {
			continue
		}
		p.Shown++
		if after != "" && one.ID <= after {
			continue
		}
		if len(rows) == jobPageSize {
			p.Next = q.href(p.Page(), "state", p.State, "minion", p.Minion, "after", rows[len(rows)-1].ID)
			continue
		}
		rows = append(rows, one)
	}
	if after != "" {
		p.First = q.href(p.Page(), "state", p.State, "minion", p.Minion)
	}
	p.count(count(p.Shown, "minion"))
	return rows
}

func anyReturned(rows []progress) bool { return slices.ContainsFunc(rows, progress.Returned) }

func idsOf(rows []progress) []string {
	ids := make([]string, len(rows))
	for i, one := range rows {
		ids[i] = one.ID
	}
	return ids
}

// addRows adds the minions of the page. As many results are on the page as it can bear.
func (p *jobPage) addRows(q *request, r *results, rows []progress) {
	room := inlineSize
	for _, one := range rows {
		row := &jobRow{progress: one, Href: q.href(jobPath(r.JID, one.ID)), Age: q.moment(one.Since)}
		p.Rows = append(p.Rows, row)
		ret, ok := r.returns.Value(one.ID).(*data.Map)
		if !ok {
			continue
		}
		row.Outcome = outcomeOn(r.Fun, one.ID, ret)
		row.Outcome.Raw = q.href(jobPath(r.JID, one.ID), "raw", "1")
		if row.Outcome.Plain {
			continue
		}
		if room -= row.Outcome.weight(); room < 0 {
			continue
		}
		row.Unfold = len(rows) == 1
		p.Open = append(p.Open, row)
	}
}

// weight returns about how long a result is on a page, in bytes.
func (o *outcome) weight() int {
	if o.States == nil {
		return len(o.Text) + 3*o.Size
	}
	n := 0
	for _, rows := range [][]stateRow{o.States.Failed, o.States.Changed, o.States.Unchanged} {
		for _, row := range rows {
			n += 400 + len(row.Comment) + len(row.Changes)
		}
	}
	return n
}

// groupsOf returns the short results that minions have in common, the most frequent first; none if each
// has another.
func groupsOf(r *results, list []progress, returned int) []resultGroup {
	byKey := map[string]*resultGroup{}
	var order []*resultGroup
	for _, one := range list {
		if !one.Returned() || !one.known || stateRunOf(r.Fun, "", one.short) != nil {
			continue
		}
		text := data.Str(one.short)
		key := one.State + " " + data.Repr(one.short)
		if len(key) > longText {
			continue
		}
		g := byKey[key]
		if g == nil {
			g = &resultGroup{Text: clip(text, 300), Class: one.Class()}
			if text == "" {
				g.Text = "(empty text)"
			}
			byKey[key] = g
			order = append(order, g)
		}
		if g.N++; len(g.IDs) < groupMembers {
			g.IDs = append(g.IDs, one.ID)
		}
		g.More = g.N - len(g.IDs)
	}
	if returned < 2 || len(order) == 0 || len(order) >= returned {
		return nil
	}
	slices.SortStableFunc(order, func(a, b *resultGroup) int { return b.N - a.N })
	var groups []resultGroup
	for _, g := range order[:min(len(order), groupsShown)] {
		groups = append(groups, *g)
	}
	return groups
}

// stopJob stops a job on the minions that run it.
func stopJob(q *request) error {
	jid := q.r.PathValue("jid")
	fun := map[string]string{"stop": "saltutil.term_job", "kill": "saltutil.kill_job"}[q.r.PostForm.Get("how")]
	if fun == "" {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "A job is stopped or killed, nothing else."}
	}
	r, err := q.jobs.results(jid, nil)
	if errors.Is(err, errNoJob) {
		return noJob(jid)
	}
	if err != nil {
		return err
	}
	var at []string
	for _, one := range r.progress(q.Now()) {
		if one.Open() && one.State != "queued" || one.State == stateSilent || one.State == stateWaiting {
			at = append(at, one.ID)
		}
	}
	if len(at) == 0 && r.Batch != "" {
		at = r.Minions[:min(1, len(r.Minions))]
	}
	if len(at) == 0 {
		q.notify("No minion runs the job any longer. Nothing was sent.")
		return q.redirect(r.Page())
	}
	low := data.NewMap("tgt", data.Values(at), "tgt_type", "list", "fun", fun, "arg", []any{jid})
	if r.Batch != "" {
		low.Set("stop_batch", true)
	}
	if _, err = q.ask.send(low); err != nil {
		return explain(err, fun)
	}
	q.notify(fun + " was sent to " + count(len(at), "minion") + ".")
	return q.redirect(r.Page())
}

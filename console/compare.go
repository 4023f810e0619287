package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/netapi"
)

// A comparison shows what differs between two jobs.
type comparison struct {
	pager
	A, B      *jobRecord
	WhenA     moment
	WhenB     moment
	Predicted bool // A is the test that B applies
	Minion    string
	Rows      []*comparedMinion
	Same      int // minions of the page without differences
	Total     int
}

// A comparedMinion is what differs on one minion.
type comparedMinion struct {
	ID          string
	Word, Class string
	States      []comparedState
	SameStates  int
	A, B        *outcome // of results that are not of states
}

// Differs reports whether there is anything to show.
func (c *comparedMinion) Differs() bool { return c.Class != "good" }

// A comparedState is a state that differs, or that did what was predicted.
type comparedState struct {
	Name, ID, Fun string
	Word, Class   string
	A, B          *stateRow
}

// compareJobs shows two jobs of the query side by side.
func compareJobs(q *request) error {
	query := q.r.URL.Query()
	jids := query["jid"] // of the boxes of the history, the newest first
	a, b := query.Get("a"), query.Get("b")
	if len(jids) == 2 {
		a, b = min(jids[0], jids[1]), max(jids[0], jids[1])
		return q.redirect("/jobs/compare", "a", a, "b", b)
	}
	if a == "" || b == "" {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "Choose two jobs to compare them."}
	}
	list, ids, err := q.jobs.pair(a, b)
	if err != nil {
		return err
	}
	p := &comparison{Minion: query.Get("minion"), Total: len(ids)}
	ids = slices.DeleteFunc(ids, func(id string) bool { return p.Minion != "" && id != p.Minion || id <= query.Get("after") })
	if len(ids) > jobPageSize {
		ids = ids[:jobPageSize]
		p.Next = q.href("/jobs/compare", "a", a, "b", b, "after", ids[jobPageSize-1])
	}
	for _, r := range list {
		if r.states != nil {
			if err := q.jobs.fill(r, r.JID, ids); err != nil {
				return err
			}
		}
	}
	p.A, p.B = list[0].jobRecord, list[1].jobRecord
	p.WhenA, p.WhenB = q.moment(p.A.Started), q.moment(p.B.Started)
	p.Predicted = p.B.TestOf == p.A.JID
	for _, id := range ids {
		row := p.minion(id, list[0], list[1])
		for i, o := range []*outcome{row.A, row.B} {
			if o != nil {
				o.Raw = q.href(jobPath(list[i].JID, id), "raw", "1")
			}
		}
		p.Rows = append(p.Rows, row)
		if !row.Differs() {
			p.Same++
		}
	}
	slices.SortStableFunc(p.Rows, func(x, y *comparedMinion) int {
		switch {
		case x.Differs() == y.Differs():
			return 0
		case x.Differs():
			return -1
		}
		return 1
	})
	return q.render(http.StatusOK, "compare", "Compare jobs", p)
}

// minion compares two jobs on a minion.
func (p *comparison) minion(id string, a, b *results) *comparedMinion {
	c := &comparedMinion{ID: id}
	left, inA := a.returns.Value(id).(*data.Map)
	right, inB := b.returns.Value(id).(*data.Map)
	switch {
	case !inA && !inB:
		c.Word = "no result in either"
		return c
	case !inB:
		c.Word, c.Class, c.A = "gone: no result in the second", "bad", outcomeOn(a.Fun, id, left)
		return c
	case !inA:
		c.Word, c.Class, c.B = "new: no result in the first", "change", outcomeOn(b.Fun, id, right)
		return c
	}
	if eventbus.Trimmed(left) || eventbus.Trimmed(right) {
		c.Word, c.Class = "cannot be compared: too large for the event bus, and not in the job cache", "bad"
		return c
	}
	runA, runB := stateRunOf(a.Fun, id, left.Value("return")), stateRunOf(b.Fun, id, right.Value("return"))
	if runA == nil || runB == nil || len(runA.Errors)+len(runB.Errors) > 0 {
		c.Word, c.Class = "same", "good"
		if !data.Equal(left.Value("return"), right.Value("return")) || failed(left) != failed(right) {
			c.Word, c.Class = "differs", "change"
			c.A, c.B = outcomeOn(a.Fun, id, left), outcomeOn(b.Fun, id, right)
		}
		return c
	}
	p.states(c, runA, runB)
	return c
}

// rows returns all states of a run, in the order in which they ran.
func (r *stateRun) rows() []*stateRow {
	var all []*stateRow
	for _, list := range [][]stateRow{r.Failed, r.Changed, r.Unchanged} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *stateRow) int { return int(a.number - b.number) })
	return all
}

// states compares two runs of states.
func (p *comparison) states(c *comparedMinion, a, b *stateRun) {
	before := map[string]*stateRow{}
	for _, row := range a.rows() {
		before[row.tag] = row
	}
	differ := 0
	add := func(word, class string, of, left, right *stateRow) {
		c.States = append(c.States, comparedState{of.Name, of.ID, of.Fun, word, class, left, right})
		if class != "good" {
			differ++
		}
	}
	for _, row := range b.rows() {
		old := before[row.tag]
		delete(before, row.tag)
		if old == nil {
			add("new", "change", row, nil, row)
			continue
		}
		word, class := p.state(old, row)
		if word == "same" {
			c.SameStates++
			continue
		}
		add(word, class, row, old, row)
	}
	for _, row := range a.rows() {
		if before[row.tag] != nil {
			add("gone", "bad", row, row, nil)
		}
	}
	switch {
	case differ > 0:
		c.Word, c.Class = strconv.Itoa(differ)+" of "+strconv.Itoa(c.SameStates+len(c.States))+" states differ", "change"
	case p.Predicted:
		c.Word, c.Class = "done as predicted", "good"
	default:
		c.Word, c.Class = "same", "good"
	}
}

// state compares the results of one state.
func (p *comparison) state(a, b *stateRow) (word, class string) {
	equal := data.Equal(a.changes, b.changes) || !data.Truth(a.changes) && !data.Truth(b.changes) ||
		p.Predicted && isNewFile(a.changes, "newfile") && isNewFile(b.changes, "diff")
	switch {
	case a.Word == b.Word && equal:
		return "same", "good"
	case p.Predicted && a.Word == "would change" && b.Word == "changed" && equal:
		return "done as predicted", "good"
	case p.Predicted && a.Word == "would change" && b.Word == "changed":
		return "changes differ", "change"
	case a.Word == b.Word:
		return "changes differ", "change"
	case b.Class == "bad":
		return strings.TrimSpace("result changed: " + a.Word + " → " + b.Word), "bad"
	}
	return "result changed: " + a.Word + " → " + b.Word, "change"
}

// isNewFile reports whether changes are those of a file that was not there: a test has the key newfile for it, and
// the state itself the key diff (salt/states/file.py, managed).
func isNewFile(changes any, key string) bool {
	m, _ := changes.(*data.Map)
	return key == "newfile" && m.Has(key) || key == "diff" && m.Value(key) == "New file"
}

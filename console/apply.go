package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// applyNames is how many minions are named whose test has failed.
const applyNames = 20

// An applyForm applies a test. Minions whose test has failed are asked for apart.
type applyForm struct {
	Good, Bad int    // minions whose test has not failed, and has
	Failed    string // names the latter
}

// applyFormOf returns the form for the minions of a test.
func applyFormOf(list []progress) *applyForm {
	good, bad := testedMinions(list)
	f := &applyForm{Good: len(good), Bad: len(bad), Failed: strings.Join(bad[:min(len(bad), applyNames)], ", ")}
	if more := len(bad) - applyNames; more > 0 {
		f.Failed += " and " + digits(more) + " more"
	}
	return f
}

// testedMinions returns the ids of the minions that returned in a test: those whose test has not failed,
// and the others.
func testedMinions(list []progress) (good, bad []string) {
	for _, one := range list {
		switch one.State {
		case stateReturned:
			good = append(good, one.ID)
		case stateFailed:
			bad = append(bad, one.ID)
		}
	}
	return good, bad
}

// Confirm is what the page asks before it sends the form.
func (f *applyForm) Confirm(fun string) string {
	text := "Run " + fun + " without test=True on " + count(f.Good, "minion") + "?"
	if f.Good == 0 {
		text = "Run " + fun + " without test=True?"
	}
	if f.Bad > 0 {
		text += " With the box checked, also on " + count(f.Bad, "minion") + " whose test has failed: " + f.Failed + "."
	}
	return text
}

// applyTest sends the function of a test without test=True, with the same arguments, to the minions that
// returned in the test. Those whose test has failed are among them only if the form says so.
func applyTest(q *request) error {
	jid := q.r.PathValue("jid")
	r, err := q.jobs.results(jid, nil)
	if errors.Is(err, errNoJob) {
		return noJob(jid)
	}
	if err != nil {
		return err
	}
	if !r.Test {
		return badRequest("The job " + jid + " is no test: it has no argument test=True.")
	}
	good, bad := testedMinions(r.progress(q.Now()))
	if shown := q.r.PostForm.Get("shown"); shown != "" && shown != strconv.Itoa(len(good))+" "+strconv.Itoa(len(bad)) {
		q.notify("Nothing was applied: more minions have returned since the page was shown. Look at them first.")
		return q.redirect(r.Page())
	}
	at, what := good, "whose test has not failed."
	if q.r.PostForm.Get("failed") != "" {
		at, what = append(good, bad...), "that returned in it."
	}
	switch {
	case len(good)+len(bad) == 0:
		return badRequest("No minion has returned in the test " + jid + ", so there is nothing to apply.")
	case len(at) == 0:
		return badRequest("The test " + jid + " has failed on each minion that returned in it (" + clip(strings.Join(bad, ", "), 200) +
			"). Nothing was applied. To apply it all the same, check the box beside the button.")
	}
	low := data.NewMap("tgt", data.Values(at), "tgt_type", "list", "fun", r.fun, "arg", withoutTest(r.arguments),
		"metadata", data.NewMap(testKey, jid))
	made, err := q.ask.send(low)
	if err != nil {
		return explain(err, r.Fun)
	}
	q.notify("The test " + jid + " is applied to the " + count(len(at), "minion") + " " + what)
	return q.redirect(jobPath(made))
}

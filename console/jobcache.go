package console

import (
	"errors"
	"net/http"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A jobCache is the jobs that the master knows, as far as one user may see them.
type jobCache struct{ ask *asker }

// errNoJob means that the job cache has no such job.
var errNoJob = errors.New("no such job")

// noJob is the fault of a job that is not there.
func noJob(jid string) error {
	text := "The job " + clip(jid, 40) + " is not in the master's job cache."
	return &netapi.Fault{Status: http.StatusNotFound, Text: text}
}

// results gets a job with the returns of some minions; those of a master that cannot select have all.
func (c jobCache) results(jid string, minions []string) (*results, error) {
	r := &results{}
	v, err := c.ask.runner("jobs.status", "jid", jid, "returns", true)
	if m, ok := v.(*data.Map); ok && err == nil {
		r.states = m
	}
	if refused(err) {
		r.note = "You lack the right @runner to jobs.status, which tells what each minion does. " +
			"Brine's master has it."
	}
	return r, c.fill(r, jid, minions)
}

// fill gets the job and the returns of some minions.
func (c jobCache) fill(r *results, jid string, minions []string) error {
	args := []any{"jid", jid}
	if r.states != nil {
		args = append(args, "minions", data.Values(minions))
	}
	v, err := c.ask.runner("jobs.list_job", args...)
	if refused(err) {
		return &netapi.Fault{Status: http.StatusForbidden,
			Text: "You lack the right @runner to jobs.list_job, which shows a job."}
	}
	if err != nil {
		return err
	}
	m, ok := v.(*data.Map)
	switch {
	case !ok:
		return badAnswer(http.StatusBadRequest, "The job "+clip(jid, 40)+" cannot be shown", v)
	case m.Has("Error"):
		return errNoJob
	}
	r.jobRecord = recordOf(jid, m)
	r.returns, _ = m.Value("Result").(*data.Map)
	return nil
}

// askRunning asks the minions that have not returned whether they run the job.
func (c jobCache) askRunning(r *results) {
	var ids []any
	for _, id := range r.Minions {
		if !r.returns.Has(id) && len(ids) < mostAsked {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	v, err := c.ask.order(data.NewMap("client", "local", "tgt", ids, "tgt_type", "list",
		"fun", "saltutil.find_job", "arg", []any{r.JID}, "timeout", int64(5),
		"gather_job_timeout", int64(2), "nocache", true))
	answers, ok := v.(*data.Map)
	switch {
	case err != nil:
		r.note = "Which minions run the job is not known. " + netapi.FaultOf(err).Text
	case ok:
		r.runs = map[string]bool{}
		for id, v := range answers.All() {
			if job, ok := v.(*data.Map); ok { // empty if the minion does not run it
				r.runs[data.Str(id)] = job.Len() > 0
			}
		}
	}
}

// mostAsked is how many minions are asked whether they run a job.
const mostAsked = 500

// pair returns two jobs without their returns, and the ids of all their minions.
func (c jobCache) pair(a, b string) (list []*results, ids []string, err error) {
	for _, jid := range []string{a, b} {
		r, err := c.results(jid, nil)
		if errors.Is(err, errNoJob) {
			return nil, nil, noJob(jid)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, r)
		ids = append(ids, idsOf(r.progress(c.ask.now()))...)
	}
	slices.Sort(ids)
	return list, slices.Compact(ids), nil
}

// appliedBy returns the jobs that apply a test.
func (c jobCache) appliedBy(jid string) []string {
	v, err := c.ask.runner("jobs.list_jobs", "search_metadata", data.NewMap(testKey, jid), "limit", int64(5))
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil // it is only a help
	}
	return data.Texts(m.Keys())
}

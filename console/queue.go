package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// queueRows is how many jobs, or minions of one job, a page shows.
const queueRows = 100

// queueNames is how many minions of a job are named in the list of jobs.
const queueNames = 5

// A queuePage shows the jobs that wait for absent minions, or the minions of one of them.
type queuePage struct {
	pager
	Absent  bool   // the master has no such queue
	Missing string // the right that lacks
	Jobs    []queuedJob
	// of one job
	One     *queuedJob
	Waiting []waitingMinion
}

// A queuedJob is a job that waits.
type queuedJob struct {
	ID, Href, JobHref string
	Queued, Expires   string
	Minions           []string // at most queueNames
	Rest              int
	sent, all         []string
}

// A waitingMinion is a minion for which a job waits.
type waitingMinion struct {
	ID   string
	Sent bool // it is being sent
}

// queueList shows the queue.
func queueList(q *request) error {
	p := &queuePage{}
	v, err := q.ask.runner("queue.list")
	jobs, ok := v.(*data.Map)
	switch {
	case refused(err):
		p.Missing = "queue.list"
	case errors.Is(err, errNoFunction):
		p.Absent = true
	case err != nil:
		return err
	case !ok:
		return badAnswer(http.StatusBadGateway, "The queue cannot be read", v)
	default:
		p.fill(q, jobs)
	}
	return q.render(http.StatusOK, "queue", "Queue", p)
}

// fill sets what the query asks for: a page of jobs, or of the minions of one job.
func (p *queuePage) fill(q *request, jobs *data.Map) {
	query := q.r.URL.Query()
	after := query.Get("after")
	if jid := query.Get("job"); jid != "" {
		one := newQueuedJob(q, jid, jobs.Value(jid))
		p.One = &one
		slices.Sort(one.all)
		page, more := pageAfter(one.all, after, queueRows)
		for _, id := range page {
			p.Waiting = append(p.Waiting, waitingMinion{id, slices.Contains(one.sent, id)})
		}
		if more {
			p.Next = q.href("/queue", "job", jid, "after", page[len(page)-1])
		}
		if after != "" {
			p.First = q.href("/queue", "job", jid)
		}
		p.count(digits(len(one.all)) + " in all")
		return
	}
	ids := data.Texts(jobs.Keys())
	slices.Sort(ids)
	page, more := pageAfter(ids, after, queueRows)
	for _, jid := range page {
		p.Jobs = append(p.Jobs, newQueuedJob(q, jid, jobs.Value(jid)))
	}
	if more {
		p.Next = q.href("/queue", "after", page[len(page)-1])
	}
	if after != "" {
		p.First = q.href("/queue")
	}
	p.count(digits(len(ids)) + " in all")
}

func newQueuedJob(q *request, jid string, v any) queuedJob {
	m, _ := v.(*data.Map)
	all, _ := m.Value("minions").([]any)
	sent, _ := m.Value("being sent").([]any)
	one := queuedJob{ID: jid, Href: q.href("/queue", "job", jid), JobHref: q.jobHref(jid, ""), Queued: m.Text("queued"),
		Expires: m.Text("expires"), all: data.Texts(all), sent: data.Texts(sent)}
	one.Minions = one.all[:min(len(one.all), queueNames)]
	one.Rest = len(one.all) - len(one.Minions)
	return one
}

// cancelQueued removes a job from the queue: for the minions that the form names, or for all.
func cancelQueued(q *request) error {
	jid, minions := strings.TrimSpace(q.r.PostForm.Get("job")), q.r.PostForm["minion"]
	if jid == "" {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "The form names no job."}
	}
	args := []any{"jid", jid}
	if len(minions) > 0 {
		args = append(args, "minions", data.Values(minions))
	}
	v, err := q.ask.runner("queue.cancel", args...)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		return badAnswer(http.StatusBadRequest, "The job is not cancelled", v)
	case len(list) == 0:
		q.notify("Job " + jid + " waits for none of these minions any more.")
	case len(list) == 1:
		q.notify("Job " + jid + " no longer waits for " + data.Str(list[0]) + ".")
	default:
		q.notify(fmt.Sprintf("Job %s no longer waits for %d minions.", jid, len(list)))
	}
	if len(minions) > 0 {
		return q.redirect("/queue", "job", jid)
	}
	return q.redirect("/queue")
}

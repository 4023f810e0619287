package queue

import (
	"context"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/queue"
)

// Salt has no queue of jobs for offline minions, so list and cancel are Brine's own names.

// list returns the jobs that wait for offline minions (salt --queue), by job ID: the minions, those
// to which it is being sent, and the times when it was queued and when it expires.
//
// CLI Example:
//
//	salt-run queue.list
func (m *module) list(context.Context, struct{}) (any, error) {
	entries, err := queue.List(m.env.Opts.Text("cachedir"))
	if err != nil {
		return nil, loader.Execution("%v", err)
	}
	jobs := data.NewMap()
	for _, e := range entries {
		j, ok := jobs.Value(string(e.ID)).(*data.Map)
		if !ok {
			j = data.NewMap("minions", []any{}, "queued", moment(e.Queued),
				"expires", moment(e.Expires))
			jobs.Set(string(e.ID), j)
		}
		add(j, "minions", e.Minion)
		if e.Sent {
			add(j, "being sent", e.Minion)
		}
	}
	return jobs, nil
}

func add(j *data.Map, key, id string) {
	list, _ := j.Value(key).([]any)
	j.Set(key, append(list, id))
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

type cancelArgs struct {
	Jid     string
	Minions any `default:"None"`
}

// cancel removes a job from the queue for offline minions, and returns the minions for which it
// did. A running master does so within a second; a job that is being sent at that moment cannot be
// recalled.
//
// minions
//
//	Only for these minions, as a list or comma-separated; otherwise for all.
//
// CLI Example:
//
//	salt-run queue.cancel 20130916125524463507
//	salt-run queue.cancel 20130916125524463507 minions=web1,web2
func (m *module) cancel(_ context.Context, a cancelArgs) (any, error) {
	var only []string
	switch v := a.Minions.(type) {
	case nil:
	case []any:
		for _, id := range v {
			only = append(only, data.Str(id))
		}
	default:
		only = strings.Split(data.Str(v), ",")
	}
	entries, err := queue.Cancel(m.env.Opts.Text("cachedir"), job.ID(a.Jid), only...)
	if err != nil {
		return nil, loader.Execution("%v", err)
	}
	if len(entries) == 0 && m.env.Log != nil {
		m.env.Log.Warnf("queue.cancel: no job %s waits for any of these minions; queue.list shows the waiting jobs", a.Jid)
	}
	ids := []any{}
	for _, e := range entries {
		ids = append(ids, e.Minion)
	}
	return ids, nil
}

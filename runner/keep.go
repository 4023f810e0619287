package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returner"
)

// Record returns a result as a job cache keeps it: the master itself is the minion that returned the data of the event
// (salt/utils/job.py, store_job). The job has no publication, so that lists of jobs leave it out, as Salt's local_cache
// does, and jobs.lookup_jid finds it.
func (d *Done) Record(now time.Time) (*returner.Job, *returner.Return, error) {
	empty, err := payload.MarshalBin(data.NewMap())
	if err != nil {
		return nil, nil, err
	}
	load := data.NewMap("id", d.ID, "tgt", d.ID, "jid", string(d.JID), "return", d.Data, "fun", d.Data.Value("fun"), "user", d.Data.Value("user"))
	raw, err := payload.MarshalBin(load)
	if err != nil {
		return nil, nil, fmt.Errorf("keep result of %s: %w", d.JID, err)
	}
	job := &returner.Job{ID: d.JID, Load: empty, Minions: []string{d.ID}, Started: now}
	return job, &returner.Return{Minion: d.ID, Load: raw, Received: now}, nil
}

// KeepIn keeps a result in a job cache.
func (d *Done) KeepIn(ctx context.Context, jobs returner.JobCache, now time.Time) error {
	job, ret, err := d.Record(now)
	if err != nil {
		return err
	}
	if err := jobs.SaveJob(ctx, job); err != nil {
		return err
	}
	_, err = jobs.SaveReturn(ctx, d.JID, ret)
	return err
}

package runners

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// Record returns a result in the form of a job cache: the master itself is the minion that returned
// the event's data (salt/utils/job.py, store_job). Lists of jobs show it under its function, for
// example runner.jobs.active, with the master as the target; as in Salt it names no minions it was
// sent to. Unlike in Salt, the job itself is stored without a second copy of the result.
func (d *Done) Record(now time.Time) (*returners.Job, *returners.Return, error) {
	load := data.NewMap("id", d.ID, "tgt", d.ID, "jid", string(d.JID), "fun", d.Data.Value("fun"),
		"user", d.Data.Value("user"))
	order, err := payload.MarshalBin(load)
	if err != nil {
		return nil, nil, fmt.Errorf("encode job %s: %w", d.JID, err)
	}
	load.Set("return", d.Data)
	result, err := payload.MarshalBin(load)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the result of job %s: %w", d.JID, err)
	}
	return &returners.Job{ID: d.JID, Load: order, Started: now}, &returners.Return{Minion: d.ID,
		Load: result, Received: now}, nil
}

// KeepIn stores a result in a job cache.
func (d *Done) KeepIn(ctx context.Context, jobs returners.JobCache, now time.Time) error {
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

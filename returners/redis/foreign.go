package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returner"
	"github.com/brineproject/brine/returner/record"
)

// foreignJob returns a job that Salt has written.
func (c *Cache) foreignJob(ctx context.Context, id job.ID) (*returner.Job, error) {
	text, err := c.db.Get(ctx, c.keys(id).load).Result()
	if errors.Is(err, redis.Nil) {
		return nil, returner.ErrUnknownJob
	}
	if err != nil {
		return nil, err
	}
	j, err := returner.JobOfJSON(id, text)
	if err != nil {
		c.tell(err)
		return nil, returner.ErrUnknownJob
	}
	return j, nil
}

// foreignReturns returns the returns that Salt has written of minions that are not among ours.
func (c *Cache) foreignReturns(ctx context.Context, id job.ID, ours map[string]string) ([]returner.Return, error) {
	all, err := c.db.HGetAll(ctx, c.keys(id).ret).Result()
	if err != nil {
		return nil, err
	}
	var list []returner.Return
	for _, minion := range slices.Sorted(maps.Keys(all)) {
		if _, ok := ours[minion]; ok {
			continue
		}
		load, err := returner.LoadOfJSON(all[minion])
		if err != nil {
			c.tell(err)
			continue
		}
		list = append(list, returner.Return{Minion: minion, Load: load, Received: time.Unix(0, 0).UTC()})
	}
	return list, nil
}

// foreignJobs returns the jobs that Salt has written.
func (c *Cache) foreignJobs(ctx context.Context, f returner.Filter) ([]returner.Job, error) {
	var jobs []returner.Job
	it := c.db.Scan(ctx, 0, c.prefix+"load:*", 1000).Iterator()
	for it.Next(ctx) {
		id := job.ID(strings.TrimPrefix(it.Val(), c.prefix+"load:"))
		n, err := c.db.Exists(ctx, c.keys(id).job).Result()
		if err != nil {
			return nil, err
		}
		if n == 1 {
			continue
		}
		j, err := c.foreignJob(ctx, id)
		if errors.Is(err, returner.ErrUnknownJob) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !f.Since.IsZero() && j.Started.Before(f.Since) || !f.Until.IsZero() && !j.Started.Before(f.Until) || f.Fun != "" && record.FunOf(j.Load) != f.Fun {
			continue
		}
		jobs = append(jobs, *j)
	}
	return jobs, it.Err()
}

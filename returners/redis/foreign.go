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
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// foreignJob returns a job that Salt wrote.
func (c *Cache) foreignJob(ctx context.Context, id job.ID) (*returners.Job, error) {
	text, err := c.db.Get(ctx, c.keys(id).load).Result()
	if errors.Is(err, redis.Nil) {
		return nil, returners.ErrUnknownJob
	}
	if err != nil {
		return nil, err
	}
	j, err := returners.JobOfJSON(id, text)
	if err != nil {
		c.logDamage(err)
		return nil, returners.ErrUnknownJob
	}
	return j, nil
}

// foreignReturns returns the returns that Salt wrote, of minions that are not in ours.
func (c *Cache) foreignReturns(
	ctx context.Context, id job.ID, ours map[string]string,
) ([]returners.Return, error) {
	all, err := c.db.HGetAll(ctx, c.keys(id).ret).Result()
	if err != nil {
		return nil, err
	}
	var list []returners.Return
	for _, minion := range slices.Sorted(maps.Keys(all)) {
		if _, ok := ours[minion]; ok {
			continue
		}
		load, err := returners.LoadOfJSON(all[minion])
		if err != nil {
			c.logDamage(err)
			continue
		}
		list = append(list, returners.Return{Minion: minion, Load: load,
			Received: time.Unix(0, 0).UTC()})
	}
	return list, nil
}

// foreignJobs returns the jobs that Salt wrote.
func (c *Cache) foreignJobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	var jobs []returners.Job
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
		if errors.Is(err, returners.ErrUnknownJob) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record.Matches(f, j) {
			jobs = append(jobs, *j)
		}
	}
	return jobs, it.Err()
}

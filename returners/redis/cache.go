package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// Options configure a Cache.
type Options struct {
	Log logrus.FieldLogger // receives reports of damage; nil logs nothing
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return o
}

// A Cache is a job cache in Redis. Several goroutines may use it, and several masters may share one
// server.
type Cache struct {
	db     *redis.Client
	at     string
	o      Options
	keep   time.Duration
	prefix string

	gate returners.Gate
}

var _ returners.JobCache = (*Cache)(nil)

// Close waits for running calls and closes the connections.
func (c *Cache) Close() error { return c.gate.Close(c.db.Close) }

// run runs a script that changes data. Once started it is not interrupted if the caller's context
// ends.
func (c *Cache) run(
	ctx context.Context, s *redis.Script, keys []string, args ...any,
) (string, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	text, err := s.Run(own, c.db, keys, args...).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redis on %s: %v", c.at, err) //nolint:errorlint // its end of time is not the caller's
	}
	return text, nil
}

// seconds returns the lifetimes of Salt's keys and of ours; 0 means forever.
func (c *Cache) seconds() (salt, ours int64) {
	if c.keep <= 0 {
		return 0, 0
	}
	return int64(c.keep / time.Second), int64((c.keep + time.Hour) / time.Second)
}

// SaveJob stores j, see [returners.JobCache].
func (c *Cache) SaveJob(ctx context.Context, j *returners.Job) error {
	row, err := record.MarshalJob(j)
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	k := c.keys(j.ID)
	salt, ours := c.seconds()
	args := []any{string(j.ID), row, j.Started.UnixMicro(), returners.LoadJSON(j.Load), salt, ours}
	all := []string{k.job, c.prefix + "brine:jobs", k.load}
	old, err := c.run(ctx, saveJob(), all, append(args, "")...)
	if err == nil && old != "" {
		err = c.mergeMinions(ctx, j.ID, old, j.Minions)
		if errors.Is(err, record.ErrDamaged) {
			_, err = c.run(ctx, saveJob(), all, append(args, "replace")...)
		}
	}
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	return nil
}

// mergeMinions adds minions to the job with the record old.
func (c *Cache) mergeMinions(ctx context.Context, id job.ID, old string, ids []string) error {
	for {
		j, err := record.UnmarshalJob(id, []byte(old))
		if err != nil {
			return err
		}
		all, changed := record.MergeIDs(j.Minions, ids)
		if !changed {
			return nil
		}
		j.Minions = all
		row, err := record.MarshalJob(j)
		if err != nil {
			return err
		}
		now, err := c.run(ctx, swapJob(), []string{c.keys(id).job}, old, row)
		switch {
		case err != nil:
			return err
		case now == "":
			return returners.ErrUnknownJob
		case now == string(row):
			return nil
		}
		old = now
	}
}

// AddMinions adds expected minions, see [returners.JobCache].
func (c *Cache) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	err := c.adopt(ctx, id)
	if err == nil {
		var old string
		if old, err = c.run(ctx, swapJob(), []string{c.keys(id).job}, "", ""); err == nil {
			if old == "" {
				err = returners.ErrUnknownJob
			} else {
				err = c.mergeMinions(ctx, id, old, ids)
			}
		}
	}
	if errors.Is(err, record.ErrDamaged) {
		err = fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
	}
	if err != nil {
		return fmt.Errorf("add minions to job %s: %w", id, err)
	}
	return nil
}

// adopt creates a record for a job that Salt wrote.
func (c *Cache) adopt(ctx context.Context, id job.ID) error {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return err
	}
	n, err := c.db.Exists(ctx, c.keys(id).job).Result()
	if err != nil || n == 1 {
		end()
		return err
	}
	j, err := c.foreignJob(ctx, id)
	end()
	if err != nil {
		return err
	}
	return c.SaveJob(ctx, j)
}

// SaveReturn stores r, see [returners.JobCache].
func (c *Cache) SaveReturn(
	ctx context.Context, id job.ID, r *returners.Return,
) (fresh bool, err error) {
	row, err := record.MarshalReturn(id, r)
	if err != nil {
		return false, fmt.Errorf("save return of minion %.64q for job %s: %w", r.Minion, id, err)
	}
	fresh, err = c.saveReturn(ctx, id, r, row)
	if errors.Is(err, returners.ErrUnknownJob) && c.adopt(ctx, id) == nil {
		fresh, err = c.saveReturn(ctx, id, r, row)
	}
	if err != nil {
		return false, fmt.Errorf("save return of minion %s for job %s: %w", r.Minion, id, err)
	}
	return fresh, nil
}

func (c *Cache) saveReturn(
	ctx context.Context, id job.ID, r *returners.Return, row []byte,
) (bool, error) {
	k := c.keys(id)
	salt, ours := c.seconds()
	text := ""
	if f, err := payload.ParseFields(r.Load, payload.WireLimits()); err == nil && f.Has("return") {
		text = returners.LoadJSON(r.Load)
	}
	last, ok := lastKey(r.Minion, record.FunOf(r.Load))
	lastID := string(id)
	if !ok {
		last, lastID = "minions", ""
	}
	names := []string{k.job, k.returns, k.order, k.ret, c.prefix + last, c.prefix + "minions"}
	args := []any{r.Minion, string(record.Answer(r.Load)) + string(row), text, lastID, salt, ours}
	verdict, err := c.run(ctx, saveReturn(), names, append(args, "")...)
	if err != nil {
		return false, err
	}
	switch verdict {
	case "fresh":
		return true, nil
	case "unknown":
		return false, returners.ErrUnknownJob
	}
	old := verdict[len("old:"):] // the stored one
	if _, err := unpack(id, old); err != nil {
		_, err := c.run(ctx, saveReturn(), names, append(args, "replace")...)
		return err == nil, err
	}
	if old[:answerSize] != string(record.Answer(r.Load)) {
		return false, returners.ErrConflict
	}
	return false, nil
}

// answerSize is the length of the digest in front of a return's record.
const answerSize = 16

func unpack(id job.ID, value string) (*returners.Return, error) {
	if len(value) < answerSize {
		return nil, record.ErrDamaged
	}
	return record.UnmarshalReturn(id, []byte(value[answerSize:]))
}

// Job returns one job.
func (c *Cache) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	defer end()
	row, err := c.db.Get(ctx, c.keys(id).job).Bytes()
	var j *returners.Job
	switch {
	case errors.Is(err, redis.Nil):
		j, err = c.foreignJob(ctx, id)
	case err == nil:
		if j, err = record.UnmarshalJob(id, row); err != nil {
			c.logDamage(err)
			err = fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

func (c *Cache) logDamage(err error) {
	c.o.Log.WithError(err).Error("Job cache redis: skipping a damaged record")
}

// Returns returns the returns of a job, in the order of arrival; those that Salt wrote come last.
func (c *Cache) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	defer end()
	k := c.keys(id)
	order, err := c.db.LRange(ctx, k.order, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	ours, err := c.db.HGetAll(ctx, k.returns).Result()
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	var list []returners.Return
	for _, minion := range order {
		r, err := unpack(id, ours[minion])
		if err != nil {
			c.logDamage(err)
			continue
		}
		list = append(list, *r)
	}
	foreign, err := c.foreignReturns(ctx, id, ours)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	return append(list, foreign...), nil
}

// Jobs returns the jobs that match f, the newest first.
func (c *Cache) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer end()
	from, to := "-inf", "+inf"
	if !f.Since.IsZero() {
		from = strconv.FormatInt(f.Since.UnixMicro(), 10)
	}
	if !f.Until.IsZero() {
		to = "(" + strconv.FormatInt(f.Until.UnixMicro(), 10)
	}
	ids, err := c.db.ZRevRangeByScore(ctx, c.prefix+
		"brine:jobs", &redis.ZRangeBy{Min: from, Max: to}).Result()
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := c.ownJobs(ctx, f, ids)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	foreign, err := c.foreignJobs(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return f.Newest(append(jobs, foreign...)), nil
}

// atOnce is the number of values in one request.
const atOnce = 200

func (c *Cache) ownJobs(
	ctx context.Context, f returners.Filter, ids []string,
) ([]returners.Job, error) {
	var jobs []returners.Job
	for part := range slices.Chunk(ids, atOnce) {
		names := make([]string, len(part))
		for i, id := range part {
			names[i] = c.keys(job.ID(id)).job
		}
		values, err := c.db.MGet(ctx, names...).Result()
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			row, ok := v.(string)
			if !ok {
				continue // it was deleted
			}
			j, err := record.UnmarshalJob(job.ID(part[i]), []byte(row))
			if err != nil {
				c.logDamage(err)
				continue
			}
			if f.Fun != "" && record.FunOf(j.Load) != f.Fun {
				continue
			}
			if jobs = append(jobs, *j); len(jobs) == f.Limit {
				return jobs, nil
			}
		}
	}
	return jobs, nil
}

// Clean deletes the jobs that started before a time with their returns, one by one. Data that Salt
// wrote expire by themselves.
func (c *Cache) Clean(ctx context.Context, before time.Time) (total int, err error) {
	for {
		end, err := c.gate.Enter(ctx)
		if err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		ids, err := c.db.ZRangeByScore(ctx, c.prefix+
			"brine:jobs", &redis.ZRangeBy{Min: "-inf", Max: "(" +
			strconv.FormatInt(before.UnixMicro(), 10), Count: atOnce}).Result()
		end()
		if err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		if len(ids) == 0 {
			return total, nil
		}
		for _, id := range ids {
			k := c.keys(job.ID(id))
			n, err := c.run(ctx, dropJob(),
				[]string{c.prefix + "brine:jobs", k.job, k.returns, k.order, k.load, k.ret}, id)
			if err != nil {
				return total, fmt.Errorf("delete old jobs: %w", err)
			}
			if n == "1" {
				total++
			}
		}
	}
}

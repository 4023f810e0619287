package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

var errClosed = errors.New("job cache is closed")

// Options tune a Cache.
type Options struct {
	Log logrus.FieldLogger // told of damage; nil logs nothing
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return o
}

// A Cache is a job cache in Redis. Several goroutines may use it, and several masters one server.
type Cache struct {
	db     *redis.Client
	at     string
	o      Options
	keep   time.Duration
	prefix string

	mu     sync.RWMutex // held to read while the server is used
	closed bool
}

var _ returners.JobCache = (*Cache)(nil)

// Close ends the use of the server, after what others have begun.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.db.Close()
}

func (c *Cache) use(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return nil, errClosed
	}
	return c.mu.RUnlock, nil
}

// run runs a script that changes something. One that has begun is not broken off when its caller gives up.
func (c *Cache) run(ctx context.Context, s *redis.Script, keys []string, args ...any) (string, error) {
	end, err := c.use(ctx)
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

// seconds is how long Salt's keys and those of ours stay, 0 for ever.
func (c *Cache) seconds() (salt, ours int64) {
	if c.keep <= 0 {
		return 0, 0
	}
	return int64(c.keep / time.Second), int64((c.keep + time.Hour) / time.Second)
}

// SaveJob keeps j, as [returners.JobCache] says.
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
		err = c.join(ctx, j.ID, old, j.Minions)
		if errors.Is(err, record.ErrDamaged) {
			_, err = c.run(ctx, saveJob(), all, append(args, "replace")...)
		}
	}
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	return nil
}

// join adds minions to the job whose record was old.
func (c *Cache) join(ctx context.Context, id job.ID, old string, ids []string) error {
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

// AddMinions adds to those that are expected to return, as [returners.JobCache] says.
func (c *Cache) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	err := c.adopt(ctx, id)
	if err == nil {
		var old string
		if old, err = c.run(ctx, swapJob(), []string{c.keys(id).job}, "", ""); err == nil {
			if old == "" {
				err = returners.ErrUnknownJob
			} else {
				err = c.join(ctx, id, old, ids)
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

// adopt makes a record of a job that Salt has written.
func (c *Cache) adopt(ctx context.Context, id job.ID) error {
	end, err := c.use(ctx)
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

// SaveReturn keeps r, as [returners.JobCache] says.
func (c *Cache) SaveReturn(ctx context.Context, id job.ID, r *returners.Return) (fresh bool, err error) {
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

func (c *Cache) saveReturn(ctx context.Context, id job.ID, r *returners.Return, row []byte) (bool, error) {
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
	old := verdict[len("old:"):] // what is there
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
	end, err := c.use(ctx)
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
			c.tell(err)
			err = fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

func (c *Cache) tell(err error) {
	c.o.Log.WithError(err).Error("Job cache redis: a record is left out")
}

// Returns returns the answers to a job, in the order in which they came; those that Salt has written come last.
func (c *Cache) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	end, err := c.use(ctx)
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
			c.tell(err)
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

// Jobs returns the jobs that f chooses, the newest first.
func (c *Cache) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	end, err := c.use(ctx)
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
	ids, err := c.db.ZRevRangeByScore(ctx, c.prefix+"brine:jobs", &redis.ZRangeBy{Min: from, Max: to}).Result()
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
	jobs = append(jobs, foreign...)
	slices.SortStableFunc(jobs, func(a, b returners.Job) int { return b.Started.Compare(a.Started) })
	if f.Limit > 0 && len(jobs) > f.Limit {
		jobs = jobs[:f.Limit]
	}
	return jobs, nil
}

// atOnce is how many values one request asks for.
const atOnce = 200

func (c *Cache) ownJobs(ctx context.Context, f returners.Filter, ids []string) ([]returners.Job, error) {
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
				continue // it has gone
			}
			j, err := record.UnmarshalJob(job.ID(part[i]), []byte(row))
			if err != nil {
				c.tell(err)
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

// Clean drops the jobs that started before a time with their returns, one after the other. What Salt has written goes by
// its own time.
func (c *Cache) Clean(ctx context.Context, before time.Time) (total int, err error) {
	for {
		end, err := c.use(ctx)
		if err != nil {
			return total, fmt.Errorf("drop old jobs: %w", err)
		}
		ids, err := c.db.ZRangeByScore(ctx, c.prefix+"brine:jobs", &redis.ZRangeBy{Min: "-inf", Max: "(" + strconv.FormatInt(before.UnixMicro(), 10), Count: atOnce}).Result()
		end()
		if err != nil {
			return total, fmt.Errorf("drop old jobs: %w", err)
		}
		if len(ids) == 0 {
			return total, nil
		}
		for _, id := range ids {
			k := c.keys(job.ID(id))
			n, err := c.run(ctx, dropJob(), []string{c.prefix + "brine:jobs", k.job, k.returns, k.order, k.load, k.ret}, id)
			if err != nil {
				return total, fmt.Errorf("drop old jobs: %w", err)
			}
			if n == "1" {
				total++
			}
		}
	}
}

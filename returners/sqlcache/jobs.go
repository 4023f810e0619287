package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// Length limits of Brine's columns, in bytes.
const maxText = 255

// SaveJob stores j, see [returners.JobCache].
func (c *Cache) SaveJob(ctx context.Context, j *returners.Job) error {
	if len(j.ID) > maxText {
		return fmt.Errorf("save job %.64q...: the id is longer than %d bytes", j.ID, maxText)
	}
	row, err := record.MarshalJob(j)
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	text := returners.LoadJSON(j.Load)
	err = c.change(ctx, func(ctx context.Context, tx *tx) error {
		n, err := tx.exec(ctx, c.d.ignoring("brine_jobs",
			" (jid, fun, started, record) VALUES (?, ?, ?, ?)"),
			string(j.ID), clip(record.FunOf(j.Load)), j.Started.UnixMicro(), row)
		switch {
		case err != nil:
			return err
		case n == 0:
			return c.renew(ctx, tx, j, row)
		}
		return c.saltRow(ctx, tx, "job "+string(j.ID), c.d.InsertJob, string(j.ID), text)
	})
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	return nil
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }

// renew adds minions to an existing job, or replaces a damaged record.
func (c *Cache) renew(ctx context.Context, tx *tx, j *returners.Job, row []byte) error {
	err := c.addMinions(ctx, tx, j.ID, j.Minions)
	if errors.Is(err, record.ErrDamaged) {
		_, err = tx.exec(ctx, "UPDATE brine_jobs SET fun = ?, started = ?, record = ? WHERE jid = ?",
			clip(record.FunOf(j.Load)), j.Started.UnixMicro(), row, string(j.ID))
	}
	return err
}

// AddMinions adds expected minions, see [returners.JobCache].
func (c *Cache) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	add := func(ctx context.Context, tx *tx) error { return c.addMinions(ctx, tx, id, ids) }
	err := c.change(ctx, add)
	if errors.Is(err, returners.ErrUnknownJob) && c.adopt(ctx, id) {
		err = c.change(ctx, add)
	}
	if err != nil {
		return fmt.Errorf("add minions to job %s: %w", id, asUnknown(err))
	}
	return nil
}

// asUnknown treats a damaged job as a missing one.
func asUnknown(err error) error {
	if errors.Is(err, record.ErrDamaged) {
		return fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
	}
	return err
}

func (c *Cache) addMinions(ctx context.Context, tx *tx, id job.ID, ids []string) error {
	var row []byte
	found, err := tx.row(ctx, []any{&row}, "SELECT record FROM brine_jobs WHERE jid = ?"+
		c.d.Locked, string(id))
	if err != nil {
		return err
	}
	if !found {
		return returners.ErrUnknownJob
	}
	j, err := record.UnmarshalJob(id, row)
	if err != nil {
		return err
	}
	all, changed := record.MergeIDs(j.Minions, ids)
	if !changed {
		return nil
	}
	j.Minions = all
	if row, err = record.MarshalJob(j); err != nil {
		return err
	}
	_, err = tx.exec(ctx, "UPDATE brine_jobs SET record = ? WHERE jid = ?", row, string(id))
	return err
}

// Job returns one job.
func (c *Cache) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	defer end()
	var row []byte
	err = c.db.QueryRowContext(ctx, c.d.marks("SELECT record FROM brine_jobs WHERE jid = ?"),
		string(id)).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return c.foreignJob(ctx, id)
	}
	var j *returners.Job
	if err == nil {
		j, err = record.UnmarshalJob(id, row)
		c.logDamage(err)
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, asUnknown(err))
	}
	return j, nil
}

// logDamage logs a damaged record.
func (c *Cache) logDamage(err error) {
	if errors.Is(err, record.ErrDamaged) {
		c.o.Log.WithError(err).Errorf("Job cache %s: skipping a damaged record", c.d.Name)
	}
}

// Jobs returns the jobs that match f, the newest first.
func (c *Cache) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer end()
	own, err := c.ownJobs(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	foreign, err := c.foreignJobs(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return f.Newest(append(own, foreign...)), nil
}

// conditions returns the SQL conditions of a filter.
func conditions(f returners.Filter) (where string, args []any) {
	where = " WHERE started >= ? AND started < ?"
	from, to := bounds(f)
	args = []any{from, to}
	if f.Fun != "" {
		where, args = where+" AND fun = ?", append(args, f.Fun)
	}
	return where, args
}

// bounds returns the times of a filter in microseconds.
func bounds(f returners.Filter) (from, to int64) {
	from, to = -1<<62, 1<<62
	if !f.Since.IsZero() {
		from = f.Since.UnixMicro()
	}
	if !f.Until.IsZero() {
		to = f.Until.UnixMicro()
	}
	return from, to
}

func (c *Cache) ownJobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	where, args := conditions(f)
	query := "SELECT jid, record FROM brine_jobs" + where + " ORDER BY started DESC, jid DESC"
	rows, err := c.db.QueryContext(ctx, c.d.marks(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var jobs []returners.Job
	for rows.Next() {
		var (
			id  string
			row []byte
		)
		if err := rows.Scan(&id, &row); err != nil {
			return nil, err
		}
		j, err := record.UnmarshalJob(job.ID(id), row)
		if err != nil {
			c.logDamage(err)
			continue
		}
		if jobs = append(jobs, *j); len(jobs) == f.Limit {
			break
		}
	}
	return jobs, rows.Err()
}

// cleanJobs is the number of jobs deleted in one transaction, so that other writers do not wait
// long.
const cleanJobs = 100

// Clean deletes the jobs that started before a time with their returns, in slices between which
// others can write. Rows only in Salt's tables, and events, are deleted by the time at which they
// were written, as by Salt's clean_old_jobs.
func (c *Cache) Clean(ctx context.Context, before time.Time) (total int, err error) {
	for {
		n, err := c.cleanSome(ctx, before)
		total += n
		if err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		if n == 0 {
			break
		}
	}
	for _, statement := range c.d.Purge {
		err := c.changeWithin(ctx, max(PurgeLimit, c.o.Limit),
			func(ctx context.Context, tx *tx) error {
				_, err := tx.exec(ctx, statement, c.d.Stamp(before.UnixMicro()))
				return err
			})
		if err != nil {
			return total, fmt.Errorf("delete old rows of Salt's tables: %w", err)
		}
	}
	return total, nil
}

func (c *Cache) cleanSome(ctx context.Context, before time.Time) (n int, err error) {
	err = c.change(ctx, func(ctx context.Context, tx *tx) error {
		n = 0
		ids, err := oldJobs(ctx, tx, before)
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, statement := range []string{"DELETE FROM jids WHERE jid = ?",
				"DELETE FROM salt_returns WHERE jid = ?",
				"DELETE FROM brine_returns WHERE jid = ?"} {
				if _, err := tx.exec(ctx, statement, id); err != nil {
					return err
				}
			}
			gone, err := tx.exec(ctx, "DELETE FROM brine_jobs WHERE jid = ?", id)
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	if err != nil {
		n = 0
	}
	return n, err
}

func oldJobs(ctx context.Context, tx *tx, before time.Time) (ids []string, err error) {
	rows, err := tx.QueryContext(ctx,
		tx.d.marks("SELECT jid FROM brine_jobs WHERE started < ? ORDER BY started LIMIT ?"),
		before.UnixMicro(), cleanJobs)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

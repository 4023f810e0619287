package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// foreignJob returns a job that is only in Salt's table.
func (c *Cache) foreignJob(ctx context.Context, id job.ID) (*returners.Job, error) {
	var text string
	err := c.db.QueryRowContext(ctx, c.d.marks("SELECT "+c.d.Load+" FROM jids WHERE jid = ?"),
		string(id)).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = returners.ErrUnknownJob
	case err == nil:
		var j *returners.Job
		if j, err = returners.JobOfJSON(id, text); err == nil {
			return j, nil
		}
		c.o.Log.WithError(err).Errorf("Job cache %s: skipping the row of job %.64q", c.d.Name, id)
		err = returners.ErrUnknownJob
	}
	return nil, fmt.Errorf("job %s: %w", id, err)
}

// foreignJobs returns the jobs that are only in Salt's table, the newest first.
func (c *Cache) foreignJobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	rows, err := c.db.QueryContext(ctx, "SELECT j.jid, j."+c.d.Load+
		" FROM jids j WHERE NOT EXISTS (SELECT 1 FROM brine_jobs b WHERE b.jid = j.jid) ORDER BY j.jid DESC")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	from, to := bounds(f)
	var jobs []returners.Job
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		j, err := returners.JobOfJSON(job.ID(id), text)
		if err != nil {
			continue
		}
		if at := j.Started.UnixMicro(); at < from || at >= to ||
			f.Fun != "" && record.FunOf(j.Load) != f.Fun {
			continue
		}
		if jobs = append(jobs, *j); len(jobs) == f.Limit {
			break
		}
	}
	return jobs, rows.Err()
}

// adopt creates a record for a job that is only in Salt's table.
func (c *Cache) adopt(ctx context.Context, id job.ID) bool {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return false
	}
	j, err := c.foreignJob(ctx, id)
	end()
	return err == nil && c.SaveJob(ctx, j) == nil
}

// foreignReturns returns the returns that are only in Salt's table, for example of minions that
// write to it. Of several returns of a minion the last counts.
func (c *Cache) foreignReturns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	rows, err := c.db.QueryContext(ctx, c.d.marks(c.d.Foreign), string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []returners.Return
	at := map[string]int{}
	for rows.Next() {
		var (
			minion, text, fun, success string
			when                       any
		)
		if err := rows.Scan(&minion, &text, &fun, &success, &when); err != nil {
			return nil, err
		}
		r, err := c.returnOf(id, minion, text, fun, success)
		if err != nil {
			c.o.Log.WithError(err).Errorf("Job cache %s: skipping the row of minion %.64q for job %.64q", c.d.Name, minion, id)
			continue
		}
		r.Received = timeOf(when)
		if i, ok := at[minion]; ok {
			list[i] = *r
			continue
		}
		at[minion] = len(list)
		list = append(list, *r)
	}
	return list, rows.Err()
}

// returnOf converts Salt's row to a return.
func (c *Cache) returnOf(id job.ID, minion, text, fun, success string) (*returners.Return, error) {
	v, err := returners.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !c.d.Whole {
		m, ok = data.NewMap("id", minion, "jid", string(id), "fun", fun, "return", v,
			"success", success == "1" || success == "True" || success == "true"), true
	}
	if !ok {
		return nil, errors.New("the return is not a map")
	}
	raw, err := payload.MarshalBin(m)
	if err != nil {
		return nil, err
	}
	return &returners.Return{Minion: minion, Load: raw}, nil
}

// timeOf converts a time of the database.
func timeOf(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case int64:
		return time.Unix(v, 0).UTC()
	case float64:
		return time.UnixMicro(int64(v * 1e6)).UTC()
	case []byte:
		return timeOf(string(v))
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return timeOf(f)
		}
		for _, layout := range []string{time.DateTime, "2006-01-02 15:04:05.999999",
			time.RFC3339Nano} {
			if t, err := time.ParseInLocation(layout, v, time.Local); err == nil {
				return t.UTC()
			}
		}
	}
	return time.Unix(0, 0).UTC()
}

package sqlcache

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// saltRow adds a row to one of Salt's tables. If the table cannot hold it, that is logged and is no
// error.
func (c *Cache) saltRow(ctx context.Context, tx *tx, what, query string, args ...any) error {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT salt_row"); err != nil {
		return err
	}
	_, err := tx.exec(ctx, query, args...)
	if err == nil {
		_, err = tx.ExecContext(ctx, "RELEASE SAVEPOINT salt_row")
		return err
	}
	if !c.d.Refused(err) {
		return err
	}
	c.o.Log.WithError(err).Warnf("Salt's table in %s cannot hold the %s; readers other than Brine do not see it", c.d.Name, what)
	_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT salt_row")
	return err
}

// saltReturn returns the parameters of Salt's row for a return, nil if it gets none.
func (c *Cache) saltReturn(id job.ID, r *returners.Return) []any {
	v, err := payload.UnmarshalText(r.Load, payload.WireLimits())
	ret, ok := v.(*data.Map)
	if err != nil || !ok || !ret.Has("return") {
		return nil
	}
	row, err := rowOf(ret, c.o.Now())
	if err != nil {
		return nil
	}
	row.JID, row.Minion = string(id), r.Minion
	return c.d.ReturnRow(row)
}

// rowOf converts a return in Salt's form to a row.
func rowOf(ret *data.Map, now time.Time) (*Row, error) {
	whole := returners.Decoded(data.Clone(ret)).(*data.Map)
	row := &Row{Fun: returners.FunText(whole.Value("fun")), JID: whole.Text("jid"),
		Minion:  whole.Text("id"),
		FunArgs: whole.Value("fun_args"),
		Success: whole.Value("success"), Now: now.UnixMicro()}
	var err error
	if row.Value, err = output.JSON(whole.Value("return")); err != nil {
		return nil, err
	}
	row.Whole, err = output.JSON(whole)
	return row, err
}

// Insert adds the row of a return to Salt's table, as Salt's returner does on a minion, unless the
// same row exists. A return without a job gets an ID and a row in jids. The error wraps
// returners.ErrRefused if the table cannot hold it.
func Insert(ctx context.Context, db *sql.DB, d *Dialect, ret *data.Map, now time.Time) error {
	ret = returners.Passed(ret)
	ids := job.NewIDs(func() time.Time { return now })
	adopted := ret.Text("jid") == string(job.Req)
	if adopted {
		ret = ret.Clone()
		ret.Set("jid", string(ids.Next()))
	}
	row, err := rowOf(ret, now)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if adopted {
		if _, err := db.ExecContext(ctx, d.marks(d.InsertJob), row.JID, row.Whole); err != nil {
			return d.refusal(err)
		}
	}
	_, err = db.ExecContext(ctx, d.marks(d.InsertReturn), d.ReturnRow(row)...)
	return d.refusal(err)
}

// InsertEvents adds the rows of events to Salt's table, all of them or none.
func InsertEvents(
	ctx context.Context, db *sql.DB, d *Dialect, events []returners.Event, master string,
) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback() //nolint:errcheck // nothing is left after Commit
	own := &tx{t, d}
	for _, e := range events {
		text, err := output.JSON(returners.Decoded(data.Clone(e.Data)))
		if err != nil {
			return fmt.Errorf("event %q: %w: %w", e.Tag, returners.ErrRefused, err)
		}
		if _, err := own.exec(ctx, d.InsertEvent, e.Tag, text, master); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, d.refusal(err))
		}
	}
	return t.Commit()
}

func (d *Dialect) refusal(err error) error {
	if err != nil && d.Refused(err) {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	return err
}

package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

// A Reader looks up rows in Salt's tables: the functions get_jid, get_fun, get_jids and get_minions
// of Salt's returners, which read salt_returns and jids. It creates no tables.
type Reader struct {
	// Connect returns a database and its name for errors. Each look-up calls it, and closes the
	// database afterwards.
	Connect func() (db *sql.DB, at string, err error)
	Dialect *Dialect
}

var _ returners.Lookup = Reader{}

// JID returns the returns of a job by minion; of several rows of one minion the last counts.
func (r Reader) JID(ctx context.Context, jid string) (*data.Map, error) {
	return r.returns(ctx, "returns of job "+clip(jid),
		"SELECT id, full_ret FROM salt_returns WHERE jid = ? AND full_ret IS NOT NULL", jid)
}

// Fun returns the returns of the newest job of a function by minion.
func (r Reader) Fun(ctx context.Context, fun string) (*data.Map, error) {
	return r.returns(ctx, "last returns of "+clip(fun),
		"SELECT s.id, s.full_ret FROM salt_returns s JOIN "+
			"(SELECT MAX(jid) AS jid, id FROM salt_returns WHERE fun = ? GROUP BY id) newest ON s.jid = newest.jid AND s.id = newest.id "+
			"WHERE s.fun = ? AND s.full_ret IS NOT NULL ORDER BY s.id", fun, fun)
}

// JIDs returns all jobs by ID, in the form of [returners.Instance].
func (r Reader) JIDs(ctx context.Context) (*data.Map, error) {
	all := &data.Map{}
	err := r.each(ctx, "jobs", "SELECT jid, "+r.Dialect.Load+" FROM jids ORDER BY jid", nil,
		func(jid, text string) error {
			v, err := returners.ParseJSON([]byte(text))
			if err != nil {
				return fmt.Errorf("job %.64q: %w", jid, err)
			}
			load, ok := v.(*data.Map)
			if !ok {
				return fmt.Errorf("job %.64q: the load is not a map", jid)
			}
			all.Set(jid, returners.Instance(jid, load))
			return nil
		})
	return all, err
}

// Minions returns the ids of the minions that have rows, sorted.
func (r Reader) Minions(ctx context.Context) ([]string, error) {
	var ids []string
	err := r.each(ctx, "minions", "SELECT DISTINCT id, '' FROM salt_returns ORDER BY id", nil,
		func(id, _ string) error {
			ids = append(ids, id)
			return nil
		})
	return ids, err
}

// returns reads rows of minion and JSON.
func (r Reader) returns(ctx context.Context, what, query string, args ...any) (*data.Map, error) {
	all := &data.Map{}
	err := r.each(ctx, what, query, args, func(minion, text string) error {
		v, err := returners.ParseJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("return of minion %.64q: %w", minion, err)
		}
		if !r.Dialect.Whole {
			v = data.NewMap("return", v) // as Salt's sqlite3_return, get_jid
		}
		all.Set(minion, v)
		return nil
	})
	return all, err
}

// each calls do with the two columns of each row.
func (r Reader) each(
	ctx context.Context, what, query string, args []any, do func(a, b string) error,
) error {
	db, at, err := r.Connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultLimit)
	defer cancel()
	err = func() error {
		rows, err := db.QueryContext(ctx, r.Dialect.marks(query), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var a, b string
			if err := rows.Scan(&a, &b); err != nil {
				return err
			}
			if err := do(a, b); err != nil {
				return err
			}
		}
		return rows.Err()
	}()
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("read %s in %s on %s: %w", what, r.Dialect.Name, at, err)
	}
	return nil
}

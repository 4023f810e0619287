// Package sqlcache stores a master's jobs and returns in the tables of Salt's SQL returners
// (salt/returners/mysql.py, postgres.py, pgjsonb.py, sqlite3_return.py), through database/sql.
//
// Salt's tables jids, salt_returns and salt_events get the rows that Salt's own master writes, so
// that its runners and other readers find them. They do not suffice for a [returners.JobCache]:
// JSON has no bytes, a row has no expected minions, and nothing keeps a minion from returning
// twice. So each job and each return has a record with a checksum in a table of Brine's beside it
// (brine_jobs, brine_returns), written in the same transaction; the key over job and minion makes a
// second return a conflict. Values that a row of Salt's cannot hold, such as a text too long for
// its column, are only in the record, and the log says so. Rows in Salt's tables that a Salt master
// or a minion's returner wrote are read too; their returns have the values that JSON preserved.
//
// Durability depends on the database (innodb_flush_log_at_trx_commit, synchronous_commit). A change
// that has started is not interrupted if the caller's context ends, but is after Options.Limit.
package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/returners"
)

// DefaultLimit is the timeout of one change.
const DefaultLimit = 30 * time.Second

// PurgeLimit is the timeout for deleting old rows from one of Salt's tables, which have no index by
// time.
const PurgeLimit = time.Minute

// Options configure a Cache.
type Options struct {
	Limit time.Duration // of one change; 0 means DefaultLimit
	// receives reports of damage and of values that Salt's tables cannot hold; nil logs nothing
	Log logrus.FieldLogger
	Now func() time.Time // nil means time.Now
}

// A Cache is a job cache in a database. Several goroutines may use it, and several masters may
// share one database.
type Cache struct {
	db *sql.DB
	d  *Dialect
	o  Options

	gate returners.Gate
}

var _ returners.JobCache = (*Cache)(nil)

// Open creates missing tables and returns the cache, which closes db. Existing tables are not
// changed. After an error db is closed.
func Open(ctx context.Context, db *sql.DB, d *Dialect, o Options) (*Cache, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache{db: db, d: d, o: o}
	if err := c.makeTables(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open job cache %s: %w", d.Name, err), db.Close())
	}
	return c, nil
}

func (c *Cache) makeTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Limit)
	defer cancel()
	for _, t := range c.d.tables() {
		if c.d.has(ctx, c.db, t.name) {
			continue
		}
		for _, statement := range t.make {
			if _, err := c.db.ExecContext(ctx, statement); err != nil &&
				!c.d.has(ctx, c.db, t.name) {
				return fmt.Errorf("create table %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// Close waits for running calls and closes the database.
func (c *Cache) Close() error { return c.gate.Close(c.db.Close) }

// attempts is how often a change is tried if the database aborts it because of another.
const attempts = 40

// change performs a change in one transaction. It may run again after a deadlock.
func (c *Cache) change(ctx context.Context, do func(ctx context.Context, tx *tx) error) error {
	return c.changeWithin(ctx, c.o.Limit, do)
}

// changeWithin is change with another timeout.
func (c *Cache) changeWithin(
	ctx context.Context, limit time.Duration, do func(ctx context.Context, tx *tx) error,
) error {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for n := range attempts {
		if err = c.try(own, do); err == nil || !c.d.Again(err) {
			break
		}
		pause(own, n)
	}
	if err != nil && own.Err() != nil {
		return fmt.Errorf("%s does not answer within %v: %v", c.d.Name, limit, err) //nolint:errorlint // not the caller's context
	}
	return err
}

func (c *Cache) try(ctx context.Context, do func(ctx context.Context, tx *tx) error) error {
	t, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(ctx, &tx{t, c.d}); err != nil {
		if e := t.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			return errors.Join(err, e)
		}
		return err
	}
	return t.Commit()
}

// pause waits before another attempt: longer each time, and for a random time, so that changes
// aborted by the same lock do not collide again.
func pause(ctx context.Context, attempt int) {
	longest := min(5*time.Millisecond<<min(attempt, 10), 200*time.Millisecond)
	// the next attempt notices that ctx has ended
	_ = clock.Sleep(ctx, rand.N(longest)+time.Millisecond)
}

// A tx is a transaction that numbers parameters as the database expects.
type tx struct {
	*sql.Tx
	d *Dialect
}

func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.ExecContext(ctx, t.d.marks(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row scans one row into dest and reports whether there is one.
func (t *tx) row(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	err := t.QueryRowContext(ctx, t.d.marks(query), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

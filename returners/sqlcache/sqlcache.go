// Package sqlcache keeps a master's jobs and returns in the tables of Salt's SQL returners (salt/returners/mysql.py,
// postgres.py, pgjsonb.py, sqlite3_return.py), through database/sql.
//
// Salt's tables jids, salt_returns and salt_events get the rows that Salt's own master writes there, so that its runners
// and other readers find them. They cannot hold all that a [returners.JobCache] promises: JSON has no bytes, a row has no
// expected minions, and nothing keeps a minion from returning twice. So each job and each return has a record with a
// checksum in a table of ours beside it (brine_jobs, brine_returns), written in the same transaction; the key over job
// and minion is what makes a second return a conflict. What a row of Salt's cannot hold (a text that is too long for its
// column) is kept in the record alone, with a line in the log. Rows that a real master or a minion's returner has put into
// Salt's tables are read too; their returns have what JSON kept of them.
//
// A change is durable when the database says so (innodb_flush_log_at_trx_commit, synchronous_commit). One that has begun
// is not broken off when its caller gives up, but ends after Options.Limit.
package sqlcache

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/returners"
)

// DefaultLimit is how long one change may take.
const DefaultLimit = 30 * time.Second

// PurgeLimit is how long it may take to drop what is old in one of Salt's tables, which have no index by time.
const PurgeLimit = time.Minute

var errClosed = errors.New("job cache is closed")

// Options tune a Cache.
type Options struct {
	Limit time.Duration      // of one change; 0 means DefaultLimit
	Log   logrus.FieldLogger // told of damage and of what Salt's tables could not hold; nil logs nothing
	Now   func() time.Time   // nil means time.Now
}

// A Cache is a job cache in a database. Several goroutines may use it, and several masters one database.
type Cache struct {
	db *sql.DB
	d  *Dialect
	o  Options

	mu     sync.RWMutex // held to read while the database is used
	closed bool
}

var _ returners.JobCache = (*Cache)(nil)

// Open makes the tables that are missing and returns the cache, which closes db. Tables that are there are not changed.
// After an error db is closed.
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
			if _, err := c.db.ExecContext(ctx, statement); err != nil && !c.d.has(ctx, c.db, t.name) {
				return fmt.Errorf("make table %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// Close ends the use of the database, after what others have begun.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.db.Close()
}

// use begins the use of the database; end must be called.
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

// attempts is how often a change is tried that the database has ended because of another.
const attempts = 40

// change does a change in one transaction. It may be done again after a deadlock.
func (c *Cache) change(ctx context.Context, do func(ctx context.Context, tx *tx) error) error {
	return c.changeWithin(ctx, c.o.Limit, do)
}

// changeWithin is change with another limit to the time.
func (c *Cache) changeWithin(ctx context.Context, limit time.Duration, do func(ctx context.Context, tx *tx) error) error {
	end, err := c.use(ctx)
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

// pause waits before another attempt: longer each time, and not as long as others that were ended by the same lock.
func pause(ctx context.Context, attempt int) {
	longest := min(5*time.Millisecond<<min(attempt, 10), 200*time.Millisecond)
	_ = clock.Sleep(ctx, rand.N(longest)+time.Millisecond) // the next attempt tells that ctx has ended
}

// A tx is a transaction that knows how the database counts parameters.
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

// row reads one row into dest and reports whether there is one.
func (t *tx) row(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	err := t.QueryRowContext(ctx, t.d.marks(query), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

package jobstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// look runs a read in a transaction of its own. If the file turns out to be damaged, it is replaced
// and read again.
func (r *Reader) look(ctx context.Context, read func(tx *sql.Tx) error) error {
	seen, err := r.attempt(ctx, read)
	if !damaged(err) || r.renew == nil {
		return err
	}
	if err := r.renew(ctx, seen, err); err != nil {
		return err
	}
	_, err = r.attempt(ctx, read)
	return err
}

func (r *Reader) attempt(ctx context.Context, read func(tx *sql.Tx) error) (*file, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.file == nil {
		return nil, errClosed
	}
	tx, err := r.file.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return r.file, err
	}
	defer tx.Rollback() // there is nothing to commit
	return r.file, read(tx)
}

// damagedRecord logs and drops an error about a single record, and returns any other.
func (r *Reader) damagedRecord(err error) (rest error) {
	if !errors.Is(err, errRecord) {
		return err
	}
	r.o.Log.WithError(err).Errorf("A record of the job cache %s is left out", r.name)
	return nil
}

// Job returns one job, which must not be changed. The error wraps returners.ErrUnknownJob if there
// is none.
func (r *Reader) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	known, state := r.recent.get(id)
	if known != nil {
		return known, nil
	}
	err := r.look(ctx, func(tx *sql.Tx) error {
		var row jobRow
		err := recordError(tx.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE id = ?",
			string(id)).Scan(row.fields()...))
		if err == nil {
			known, err = row.job()
		}
		if errors.Is(err, sql.ErrNoRows) {
			return returners.ErrUnknownJob
		}
		return r.damagedRecord(err)
	})
	if err == nil && known == nil {
		err = returners.ErrUnknownJob
	}
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", id, err)
	}
	r.recent.cacheRead(known, state)
	return known, nil
}

// Returns returns the returns of a job, in the order of arrival.
func (r *Reader) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	list := []returners.Return{}
	err := r.WalkReturns(ctx, id, nil, func(one returners.Return) error {
		list = append(list, one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// WalkReturns calls visit with each return of a job, in the order of arrival, see
// [returners.ReturnWalker]. It holds a few returns at a time.
func (r *Reader) WalkReturns(ctx context.Context, id job.ID, minions []string, visit func(returners.Return) error) error {
	var stop error // of visit
	seen := map[string]bool{}
	err := r.look(ctx, func(tx *sql.Tx) error {
		numbers, err := r.findNumbers(ctx, tx, id, minions)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(numbers, readAtOnce) {
			err := r.walkSome(ctx, tx, id, some, func(one returners.Return) bool {
				if seen[one.Minion] { // of the file that was damaged
					return true
				}
				seen[one.Minion] = true
				stop = visit(one)
				return stop == nil
			})
			if err != nil || stop != nil {
				return err
			}
		}
		return nil
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return fmt.Errorf("read returns of job %s: %w", id, err)
	}
	return nil
}

// readAtOnce is the number of returns that one query reads. Of each the first piece is in memory.
const readAtOnce = 16

// findNumbers returns the numbers of the returns of a job, or of those of some minions, in the order of
// arrival.
func (r *Reader) findNumbers(ctx context.Context, tx *sql.Tx, id job.ID, minions []string) (list []any, err error) {
	wanted := make(map[string]bool, len(minions))
	for _, m := range minions {
		wanted[m] = true
	}
	rows, err := tx.QueryContext(ctx,
		"SELECT n, minion FROM returns WHERE job = (SELECT n FROM jobs WHERE id = ?) ORDER BY n", string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var minion string
		err := recordError(rows.Scan(&number, &minion))
		if err == nil && (minions == nil || wanted[minion]) {
			list = append(list, number)
		} else if err = r.damagedRecord(err); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// walkSome reads the returns with some numbers, until visit returns false.
func (r *Reader) walkSome(
	ctx context.Context, tx *sql.Tx, id job.ID, numbers []any, visit func(returners.Return) bool,
) error {
	found, err := r.findReturns(ctx, tx, numbers)
	if err != nil {
		return err
	}
	for _, f := range found {
		load, err := f.row.assemble(ctx, tx, id, f.number)
		switch {
		case err == nil:
			one := returners.Return{Minion: f.row.minion, Load: load, Received: time.UnixMicro(f.row.received).UTC()}
			if !visit(one) {
				return nil
			}
		default:
			if err = r.damagedRecord(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// A foundReturn is a return with the number of its pieces.
type foundReturn struct {
	number int64
	row    returnRow
}

func (r *Reader) findReturns(ctx context.Context, tx *sql.Tx, numbers []any) (list []*foundReturn, err error) {
	marks := strings.Repeat(", ?", len(numbers))[2:]
	rows, err := tx.QueryContext(ctx, "SELECT n, "+returnColumns+" FROM returns WHERE n IN ("+marks+") ORDER BY n", numbers...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		f := &foundReturn{}
		if err := recordError(rows.Scan(append([]any{&f.number},
			f.row.fields()...)...)); err == nil {
			list = append(list, f)
		} else if err = r.damagedRecord(err); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// Jobs returns the jobs that match f, the newest first.
func (r *Reader) Jobs(ctx context.Context, f returners.Filter) (list []returners.Job, err error) {
	err = r.look(ctx, func(tx *sql.Tx) error {
		list, err = r.findJobs(ctx, tx, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return list, nil
}

func (r *Reader) findJobs(
	ctx context.Context, tx *sql.Tx, f returners.Filter,
) (list []returners.Job, err error) {
	from, to, limit := micros(f.Since, math.MinInt64), micros(f.Until, math.MaxInt64), f.Limit
	if limit <= 0 {
		limit = math.MaxInt
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+jobColumns+
		" FROM jobs WHERE started >= ?1 AND started < ?2 AND (?3 = '' OR fun = ?3) "+
		"ORDER BY started DESC, n DESC", from, to, f.Fun)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for len(list) < limit && rows.Next() {
		var (
			row jobRow
			j   *returners.Job
		)
		err := recordError(rows.Scan(row.fields()...))
		if err == nil {
			j, err = row.job()
		}
		if err == nil {
			list = append(list, *j)
		} else if err = r.damagedRecord(err); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

func micros(t time.Time, zero int64) int64 {
	if t.IsZero() {
		return zero
	}
	return t.UnixMicro()
}

package jobstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Codes of SQLite.
const (
	codeError    = sqlite3.SQLITE_ERROR
	codeCorrupt  = sqlite3.SQLITE_CORRUPT
	codeNotADB   = sqlite3.SQLITE_NOTADB
	codeReadOnly = sqlite3.SQLITE_READONLY

	codeShortRead = sqlite3.SQLITE_IOERR_SHORT_READ
)

// errDamaged is wrapped by errors that report a damaged file.
var errDamaged = errors.New("the file is damaged")

// renewalPause is the minimum time between two replacements of a damaged file by a running store,
// so that a bad disk is not filled with files moved aside.
const renewalPause = time.Hour

// salvageTime is the limit for reading a damaged file, at startup or in the writer.
const salvageTime = 10 * time.Second

// codeOf returns SQLite's extended code of an error, and 0 for other errors.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// damaged reports whether err means that the file was damaged after it was opened. SQLite treats a
// writable file as read-only if its header is damaged.
func damaged(err error) bool {
	switch code := codeOf(err); {
	case errors.Is(err, ErrNewer):
		return false
	case errors.Is(err, errDamaged), code == codeReadOnly, code == codeShortRead:
		return true
	default:
		return code&0xff == codeCorrupt || code&0xff == codeNotADB
	}
}

// unusable reports whether err, of opening, means that the file is damaged. A failing statement
// means that the tables are not ours.
func unusable(err error) bool {
	return damaged(err) || !errors.Is(err, ErrNewer) && codeOf(err) == codeError
}

// renewFile makes the writer replace the file that a reader found damaged.
func (s *Store) renewFile(ctx context.Context, seen *file, cause error) error {
	return s.queue.do(ctx, &change{do: func(f *file) error {
		if f != seen {
			return nil
		}
		return fmt.Errorf("%w: %w", errDamaged, cause)
	}})
}

// replaceFile is renewal in the writer's goroutine.
func (s *Store) replaceFile(cause error) error {
	now := s.o.Now()
	if !s.renewed.IsZero() && now.Sub(s.renewed) < renewalPause {
		return fmt.Errorf("it was replaced less than %v ago: %w", renewalPause, cause)
	}
	err := s.closeFile()
	f, err2 := replace(context.Background(), s.name, cause, s.o)
	if err2 != nil {
		return errors.Join(err2, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.renewed = f, now
	s.recent.clear()
	return nil
}

// replace moves a damaged file aside, creates a new one, and copies the readable data.
func replace(ctx context.Context, name string, cause error, o Options) (*file, error) {
	aside, err := moveAside(name, o.Now())
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	n, err := salvage(ctx, f, aside)
	log := o.Log.WithError(cause)
	if err != nil {
		log = log.WithField("incomplete", err)
	}
	log.Errorf("The job cache %s is damaged. It was moved to %s. A new one was created with %d jobs and %d returns of the old one",
		name, aside, n.jobs, n.returns)
	return f, nil
}

// moveAside renames the file and its log. The file goes first: a new file cannot use the old log.
func moveAside(name string, now time.Time) (aside string, err error) {
	base := name + ".damaged-" + now.UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; exists(aside); i++ {
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	err = os.Rename(name, aside)
	if err == nil {
		err = errors.Join(ignoreMissing(os.Rename(name+"-wal", aside+"-wal")),
			ignoreMissing(os.Remove(name+"-shm")))
	}
	if err != nil {
		return "", fmt.Errorf("move it aside: %w", err)
	}
	return aside, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// rescued counts the records copied from a damaged file.
type rescued struct{ jobs, returns int }

// salvage copies the readable data of a damaged file to f. It reads each table from the newest row
// down, and if that does not reach the end, from the oldest up. Records are only checked when
// somebody reads them.
func salvage(ctx context.Context, f *file, aside string) (n rescued, err error) {
	if info, err := os.Stat(aside); err != nil || !info.Mode().IsRegular() {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, salvageTime)
	defer cancel()
	// the pragma allows reading a truncated file
	old, err := connectBare(aside, 1, "mode=ro&_pragma=writable_schema(1)")
	if err != nil {
		return n, err
	}
	for _, t := range []struct {
		name, columns string
		rows          *int
	}{
		{"jobs", "n, " + jobColumns, &n.jobs},
		{"returns", "n, job, " + returnColumns, &n.returns},
		{"pieces", "n, return, load", new(int)},
		{"gone", "job AS n", new(int)},
		{"absent", "job AS n, sum, minions", new(int)},
		{"progress", "job AS n, minion, state, since, why, sum", new(int)},
	} {
		var failed error
		*t.rows, failed = copyTable(ctx, f, old, t.name, t.columns)
		if t.rows != &n.jobs && t.rows != &n.returns && codeOf(failed) == codeError {
			continue // version 1 has no such table
		}
		err = cmp.Or(err, failed)
	}
	failed := errors.Join(old.Close(), ignoreMissing(os.Remove(aside+"-shm")), dropOrphans(f))
	return n, cmp.Or(err, failed)
}

// dropOrphans marks the returns of missing jobs for Clean, and makes sure that no new job gets the
// number of one.
func dropOrphans(f *file) error {
	tx, err := f.conn.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if _, err = tx.Exec(orphans); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

const orphans = `
DELETE FROM gone WHERE job IN (SELECT n FROM jobs);
INSERT OR IGNORE INTO gone SELECT DISTINCT job FROM returns WHERE job NOT IN (SELECT n FROM jobs);
INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs');
UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT max(job) FROM gone), 0)) WHERE name = 'jobs';
DELETE FROM pieces WHERE return NOT IN (SELECT n FROM returns);
DELETE FROM absent WHERE job NOT IN (SELECT n FROM jobs);
DELETE FROM progress WHERE job NOT IN (SELECT n FROM jobs);`

// copyTable copies the rows of one table and returns their number.
func copyTable(ctx context.Context, f *file, old *sql.DB, table, columns string) (int, error) {
	down, err := copyRows(ctx, f, old, table, columns, "DESC")
	if err == nil || ctx.Err() != nil {
		return down, err
	}
	up, err2 := copyRows(ctx, f, old, table, columns, "ASC")
	return down + up, cmp.Or(err2, err)
}

func copyRows(
	ctx context.Context, f *file, old *sql.DB, table, columns, order string,
) (n int, err error) {
	rows, err := old.QueryContext(ctx, "SELECT "+columns+" FROM "+table+" ORDER BY n "+order)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	width := strings.Count(columns, ",") + 1
	tx, err := f.conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, tx.Commit()) }()
	insert, err := tx.Prepare("INSERT OR IGNORE INTO " + table + " (" +
		strings.ReplaceAll(columns, "job AS n", "job") + ") VALUES (?" +
		strings.Repeat(", ?", width-1) + ")")
	if err != nil {
		return 0, err
	}
	values, places := make([]any, width), make([]any, width)
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return n, err
		}
		res, err := insert.Exec(values...)
		if err != nil {
			return n, err
		}
		added, _ := res.RowsAffected()
		n += int(added)
	}
	return n, rows.Err()
}

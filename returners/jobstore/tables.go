package jobstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// version of the tables. It is in the header of the file and in the table about. A file counts as
// newer only if both say so, because a flipped bit must not stop a master.
const version = 3

// withProgress is the first version that has the progress of jobs.
const withProgress = 2

// applicationID marks the file as a job cache.
const applicationID = 0x42726e4a

// tables of version 1, which version 2 extends; version 3 keeps returns in the form of package compress,
// where that is shorter. Jobs and returns are numbered: numbers of jobs are
// never reused, those of returns increase with arrival. The table gone lists deleted jobs whose
// returns still have to be deleted.
const tables = `
CREATE TABLE about (version INTEGER NOT NULL, tables TEXT NOT NULL, roots TEXT NOT NULL);
CREATE TABLE jobs (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, fun TEXT NOT NULL, started INTEGER NOT NULL,
	nocache INTEGER NOT NULL, sum INTEGER NOT NULL, minions BLOB NOT NULL, missing BLOB NOT NULL, load BLOB NOT NULL);
CREATE INDEX jobs_by_start ON jobs (started);
CREATE TABLE returns (n INTEGER PRIMARY KEY, job INTEGER NOT NULL, minion TEXT NOT NULL, received INTEGER NOT NULL,
	size INTEGER NOT NULL, sum INTEGER NOT NULL, answer BLOB NOT NULL, load BLOB NOT NULL, UNIQUE (job, minion));
CREATE TABLE pieces (n INTEGER PRIMARY KEY, return INTEGER NOT NULL, load BLOB NOT NULL);
CREATE INDEX pieces_by_return ON pieces (return);
CREATE TABLE gone (job INTEGER PRIMARY KEY);`

// progressTables were added in version 2. The table absent has the minions of a job that were not
// connected when it was sent; progress has later states of single minions. A minion in neither
// table and without a return has the state sent.
const progressTables = `
CREATE TABLE absent (job INTEGER PRIMARY KEY, sum INTEGER NOT NULL, minions BLOB NOT NULL);
CREATE TABLE progress (job INTEGER NOT NULL, minion TEXT NOT NULL, state INTEGER NOT NULL, since INTEGER NOT NULL, why TEXT NOT NULL,
	sum INTEGER NOT NULL, PRIMARY KEY (job, minion)) WITHOUT ROWID;`

// SQLite's descriptions of the tables, and their first pages. Operators may have added an index or
// statistics.
const (
	described = `(SELECT group_concat(name || ' ' || coalesce(sql, ''), x'0a') FROM` + ours
	roots     = `(SELECT group_concat(name || ' ' || rootpage, x'0a') FROM` + ours
	ours      = ` (SELECT * FROM sqlite_master WHERE tbl_name IN ('about', 'absent', 'gone', 'jobs', 'pieces', 'progress', 'returns') AND
	(type = 'table' OR name LIKE 'sqlite_autoindex_%' OR name IN ('jobs_by_start', 'pieces_by_return')) ORDER BY name))`
)

// A querier is a connection or a pool of them.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// prepareTables creates the tables in an empty file, and checks those of an existing one.
func prepareTables(ctx context.Context, db querier) error {
	n, err := readNumber(ctx, db, "SELECT count(*) FROM sqlite_master")
	if err != nil {
		return err
	}
	if n == 0 {
		return createTables(ctx, db)
	}
	found, err := checkVersion(ctx, db)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE; ROLLBACK"); err != nil {
		return err
	}
	if err := checkLayout(ctx, db); err != nil || found == version {
		return err
	}
	if found >= withProgress {
		return raiseVersion(ctx, db)
	}
	return addProgressTables(ctx, db)
}

// raiseVersion keeps older programs, which cannot read the returns that this one writes, from the file.
func raiseVersion(ctx context.Context, db querier) error {
	_, err := db.ExecContext(ctx,
		fmt.Sprintf("BEGIN IMMEDIATE; UPDATE about SET version = %d; PRAGMA user_version = %[1]d; COMMIT", version))
	if err != nil {
		return fmt.Errorf("note version %d of the tables: %w", version, err)
	}
	return nil
}

// addProgressTables upgrades version 1 to the present one, as a whole or not at all.
func addProgressTables(ctx context.Context, db querier) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN IMMEDIATE;%s; UPDATE about SET version = %d, tables = %s, roots = %s; PRAGMA user_version = %[2]d; COMMIT",
		progressTables, version, described, roots))
	if err != nil {
		return fmt.Errorf("add tables for the progress of jobs: %w", err)
	}
	return nil
}

func createTables(ctx context.Context, db querier) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN IMMEDIATE;%s; INSERT INTO about VALUES (%d, %s, %s); PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		tables+progressTables, version, described, roots, applicationID, version))
	if err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	return nil
}

// checkVersion returns the version of the tables, or an error if it is invalid.
func checkVersion(ctx context.Context, db querier) (found int64, err error) {
	header, err := readNumber(ctx, db, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	about, err := readNumber(ctx, db, "SELECT version FROM about")
	switch {
	case codeOf(err) == codeError, errors.Is(err, errRecord), errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%w: %w", errDamaged, err)
	case err != nil:
		return 0, err
	case header == about && header > version:
		return 0, fmt.Errorf("%w: its tables have version %d, this program supports %d", ErrNewer,
			header, version)
	case header != about || header < 1:
		return 0, fmt.Errorf("%w: its versions are %d and %d", errDamaged, header, about)
	}
	return header, nil
}

// checkLayout reports tables that differ from those created. If they do not start at the original
// pages, it reads the whole file, which may take a while: either a flipped bit or an operator's
// VACUUM may have moved them.
func checkLayout(ctx context.Context, db querier) error {
	same, err := readNumber(ctx, db, "SELECT count(*) FROM about WHERE tables = "+described)
	if err != nil {
		return err
	}
	if same != 1 {
		return fmt.Errorf("%w: its tables differ from those created", errDamaged)
	}
	if same, err = readNumber(ctx, db, "SELECT count(*) FROM about WHERE roots = "+
		roots); err != nil {
		return err
	}
	app, err := readNumber(ctx, db, "PRAGMA application_id")
	if err != nil {
		return err
	}
	vacuum, err := readNumber(ctx, db, "PRAGMA auto_vacuum")
	if err != nil || same == 1 && app == applicationID && vacuum == 2 {
		return err
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, verdict)
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("UPDATE about SET roots = %s; PRAGMA application_id = %d", roots, applicationID))
	return err
}

func readNumber(ctx context.Context, db querier, query string, args ...any) (n int64, err error) {
	err = recordError(db.QueryRowContext(ctx, query, args...).Scan(&n))
	return n, err
}

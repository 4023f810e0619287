package jobstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A file is the open SQLite file: a connection for writing, with its statements, and one or two for
// reading.
type file struct {
	name  string
	info  fs.FileInfo
	read  *sql.DB
	write *sql.DB   // nil if the file is only read
	conn  *sql.Conn // the only one of write
	do    statements
	old   bool // has no tables for the progress of jobs; such a file is only read
}

// statements holds the writer's prepared statements.
type statements struct {
	begin, commit, rollback                    *sql.Stmt
	addJob, findJob, scanJob, setJob           *sql.Stmt
	addReturn, checkReturn                     *sql.Stmt
	findReturn, dropReturn                     *sql.Stmt
	addPiece, dropPieces                       *sql.Stmt
	markOld, dropOld, unmark                   *sql.Stmt
	oldReturns, freePages, allPages, giveBack  *sql.Stmt
	addAbsent, track, dropProgress, dropAbsent *sql.Stmt
}

// texts returns the texts of the writer's statements, by their destination.
func (s *statements) texts() map[**sql.Stmt]string {
	return map[**sql.Stmt]string{
		&s.begin:    "BEGIN IMMEDIATE",
		&s.commit:   "COMMIT",
		&s.rollback: "ROLLBACK",

		&s.addJob: "INSERT INTO jobs (" + jobColumns +
			") VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		&s.findJob: "SELECT " + jobColumns + " FROM jobs WHERE id = ?",
		&s.scanJob: "SELECT n FROM jobs NOT INDEXED WHERE id = ?",
		&s.setJob: "UPDATE jobs SET (" + jobColumns +
			") = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) WHERE id = ?1",

		&s.addReturn: "INSERT INTO returns (job, " + returnColumns +
			") SELECT n, ?2, ?3, ?4, ?5, ?6, ?7 FROM jobs WHERE id = ?1 ON CONFLICT DO NOTHING",
		&s.checkReturn: "SELECT size FROM returns WHERE job = (SELECT n FROM jobs WHERE id = ?) AND minion = ?",
		&s.findReturn: "SELECT n, " + returnColumns +
			" FROM returns WHERE job = (SELECT n FROM jobs WHERE id = ?) AND minion = ?",
		&s.dropReturn: "DELETE FROM returns WHERE n = ?",
		&s.addPiece:   "INSERT INTO pieces (return, load) VALUES (?, ?)",
		&s.dropPieces: "DELETE FROM pieces WHERE n IN (SELECT n FROM pieces WHERE return = ? LIMIT ?)",

		&s.markOld:    "INSERT INTO gone SELECT n FROM jobs WHERE started < ?1 AND NOT (started >= ?2 AND " + activeJob + ") ORDER BY started LIMIT ?3",
		&s.dropOld:    "DELETE FROM jobs WHERE n IN (SELECT job FROM gone)",
		&s.oldReturns: "SELECT returns.n, CAST(size AS INTEGER) FROM gone JOIN returns USING (job) LIMIT ?",
		&s.unmark:     "DELETE FROM gone",

		&s.addAbsent:    "INSERT OR REPLACE INTO absent (job, sum, minions) SELECT n, ?2, ?3 FROM jobs WHERE id = ?1",
		&s.track:        trackText,
		&s.dropProgress: "DELETE FROM progress WHERE (job, minion) IN (SELECT job, minion FROM gone JOIN progress USING (job) LIMIT ?)",
		&s.dropAbsent:   "DELETE FROM absent WHERE job IN (SELECT job FROM gone)",

		&s.freePages: "PRAGMA freelist_count",
		&s.allPages:  "PRAGMA page_count",
		&s.giveBack:  fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages),
	}
}

// smallest is the size of SQLite's smallest page.
const smallest = 512

// openFile opens or creates the file and its tables.
func openFile(ctx context.Context, name string) (f *file, err error) {
	info, err := private(name)
	if err != nil {
		return nil, err
	}
	options := "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=journal_size_limit(8388608)"
	if info.Size() == 0 {
		options += "&_auto_vacuum=2" // can only be set before the first page is written
	}
	f = &file{name: name, info: info}
	defer func() {
		if err != nil {
			f, err = nil, errors.Join(err, f.close())
		}
	}()
	if f.write, err = connect(name, 1, options); err != nil {
		return f, err
	}
	if f.conn, err = f.write.Conn(ctx); err != nil {
		return f, err
	}
	if err = prepareTables(ctx, f.conn); err != nil {
		return f, err
	}
	for to, text := range f.do.texts() {
		if *to, err = f.conn.PrepareContext(ctx, text); err != nil {
			return f, err
		}
	}
	f.read, err = connect(name, 2, "mode=ro")
	return f, err
}

// openToRead opens the file of another process for reading.
func openToRead(ctx context.Context, name string) (*file, error) {
	read, err := connect(name, 1, "mode=ro")
	if err != nil {
		return nil, err
	}
	found, err := checkVersion(ctx, read)
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return &file{name: name, read: read, old: found < withProgress}, nil
}

// private creates the file and its directory if necessary, and makes sure that only the owner can
// read it.
func private(name string) (info fs.FileInfo, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(name); err == nil {
		if info.IsDir() {
			return nil, fmt.Errorf("%w: it is a directory", errDamaged)
		}
		if info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			if err := os.Chmod(name, 0o600); err != nil {
				return nil, err
			}
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if n := info.Size(); n > 0 && n < smallest {
		// SQLite would treat it as an empty one
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, n)
	}
	return info, nil
}

// connect prepares connections that need little memory: at most half a megabyte of pages, and no
// memory mapping.
func connect(name string, most int, options string) (*sql.DB, error) {
	return connectBare(name, most, "_pragma=cache_size(-512)&_pragma=mmap_size(0)&"+options)
}

func connectBare(name string, most int, options string) (*sql.DB, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	uri := url.URL{Scheme: "file", Path: path,
		RawQuery: "_busy_timeout=5000&_error_rc=1&" + options}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(1)
	if most > 1 {
		db.SetConnMaxIdleTime(time.Minute)
	}
	return db, nil
}

// inPlace reports whether the open file is still the one with its name.
func (f *file) inPlace() bool {
	info, err := os.Stat(f.name)
	return err == nil && os.SameFile(info, f.info) || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// close closes the open parts of f, which may be nil.
func (f *file) close() error {
	if f == nil {
		return nil
	}
	var errs []error
	if f.read != nil {
		errs = append(errs, f.read.Close())
	}
	for s := range f.do.texts() {
		if *s != nil {
			errs = append(errs, (*s).Close())
		}
	}
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	if f.write != nil {
		errs = append(errs, f.write.Close())
	}
	return errors.Join(errs...)
}

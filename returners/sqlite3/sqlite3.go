// Package sqlite3 is Salt's returner of that name (salt/returners/sqlite3_return.py): returns and a
// master's job cache in a SQLite file with Salt's tables. Package returners/sqlcache describes
// their use. Salt has no table of events in it; for event_return one is created in the form of its
// other databases.
//
// Options: sqlite3.database, the file, which the submitter of a job cannot choose, and
// sqlite3.timeout, how long to wait for other writers, in seconds (5).
package sqlite3

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	_ "modernc.org/sqlite" // the driver

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/sqlcache"
)

// Name is the returner's name.
const Name = "sqlite3"

const doc = `
    Insert minion return data into the sqlite3 database

    CLI Example:

        salt '*' test.ping --return sqlite3
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "database", Fixed: true}, {Name: "timeout", Default: 5.0}}
}

// Database returns the returner for minions and masters. The file of a job cache is created if it
// does not exist.
func Database() sqlcache.Database {
	return sqlcache.Database{Dialect: dialect(), Doc: doc, Kind: "sqlite3 file", OwnEvents: true,
		Connect: connect}
}

// connect returns a database with one connection, because SQLite allows one writer at a time, and
// its file.
func connect(from returners.Source, ret *data.Map) (*sql.DB, string, error) {
	s := from.Read(ret, known(), Name)
	file := s.Text("database")
	if file == "" {
		return nil, "", errors.New(`sqlite3 config option "sqlite3.database" is missing`)
	}
	seconds, err := s.Float("timeout")
	if err != nil || seconds < 0 || seconds > 3600 {
		return nil, "", fmt.Errorf("sqlite3.timeout: %s is not a number of seconds",
			data.Repr(s.Value("timeout")))
	}
	query := url.Values{"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(" + strconv.Itoa(int(seconds*1000)) + ")", "synchronous(FULL)",
			"foreign_keys(ON)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, "", fmt.Errorf("sqlite3 file %s: %w", file, err)
	}
	private(file)
	db.SetMaxOpenConns(1)
	return db, file, nil
}

// private creates a database's file so that only its user can read it, because returns hold
// secrets. SQLite gives its companion files the same mode. An existing file keeps its mode. If the
// file cannot be created SQLite reports the reason on first use.
func private(file string) {
	if file == ":memory:" {
		return
	}
	if f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close()
	}
}

// Package sqlite3 is Salt's external pillar of that name: rows of a SQLite file
// (salt/pillar/sqlite3.py). Package pillar/sqltree describes how they become a pillar; a question
// mark is replaced by the minion's id.
//
//	sqlite3: {database: /var/lib/salt/pillar.db, timeout: 5.0}
//	ext_pillar:
//	  - sqlite3: {fromdb: {query: 'SELECT role, value FROM roles WHERE minion LIKE ?', depth: 1}}
//
// Unlike in Salt, a missing file is not created.
package sqlite3

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"

	_ "modernc.org/sqlite" // the driver

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sqltree"
)

// places is the limit of concurrent connections.
const places = 4

// A Source is the external pillar sqlite3.
type Source struct{ gate sqltree.Gate }

// New returns the source.
func New() *Source { return &Source{sqltree.NewGate(places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "sqlite3" }

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	_, err := sqltree.Queries(argument)
	_, options := target(opts)
	return errors.Join(err, options)
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	return s.gate.Fetch(ctx, q, "SQLite3",
		func(ctx context.Context) (sqltree.Database, error) { return open(ctx, q.Opts) })
}

func open(ctx context.Context, opts *data.Map) (sqltree.Database, error) {
	name, err := target(opts)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqltree.Conn{DB: db, Value: value}, nil
}

// value converts as Python does: truth values are numbers.
func value(v any) any {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return sqltree.Value(v)
}

// target parses the option sqlite3. As in Salt, its other keys only count together with database.
func target(opts *data.Map) (string, error) {
	set, ok := opts.Value("sqlite3").(*data.Map)
	if !ok && opts.Value("sqlite3") != nil {
		return "", errors.New("sqlite3: expected a dictionary with database and timeout")
	}
	file, seconds := "/var/lib/salt/pillar.db", 5.0
	if name, ok := set.Get("database"); ok {
		file = data.Str(name)
		if v, ok := set.Get("timeout"); ok {
			var err error
			if seconds, err = loader.Float(v); err != nil || seconds < 0 || seconds > 3600 {
				return "", errors.New("sqlite3: timeout: expected a number of seconds")
			}
		}
	}
	query := url.Values{"mode": {"rw"},
		"_pragma": {"busy_timeout(" + strconv.Itoa(int(seconds*1000)) + ")"}}
	return "file:" + (&url.URL{Path: file}).EscapedPath() + "?" + query.Encode(), nil
}

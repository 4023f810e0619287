// Package sqlite3 is Salt's sdb driver sqlite3: values in a SQLite database (salt/sdb/sqlite3.py). Only
// masters have it, because SQLite is too large for a minion.
//
//	mysqlite:
//	  driver: sqlite3
//	  database: /var/lib/salt/sdb.sqlite
//	  table: sdb               # the default
//	  create_table: True       # the default
//	  create_statements: [...] # SQL instead of create_table
//	  get_query: SELECT d FROM advanced WHERE a=:key
//	  set_query: INSERT OR REPLACE INTO advanced (a, d) VALUES (:key, :value)
//
// Values are MessagePack, as Salt writes them.
package sqlite3

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"modernc.org/sqlite" // also registers the driver

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Plugin returns the driver sqlite3.
func Plugin() loader.Plugin { return loader.Plugin{Name: "sqlite3", New: newModule} }

func newModule(*loader.Env) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", get).SecretResult(loader.SecretAll),
		loader.F("set", set).Def("set_").Secret("value"),
	}}, nil
}

// A table is an open database and what to ask it.
type table struct {
	*sql.DB
	get, set string
}

// open opens the database of a profile, and creates what is missing. The caller closes it.
func open(ctx context.Context, profile *data.Map) (*table, error) {
	file := profile.Text("database")
	if file == "" {
		return nil, loader.Exception("KeyError", "'database'")
	}
	name := "sdb"
	if v, ok := profile.Get("table"); ok {
		name = data.Str(v)
	}
	if strings.Contains(name, "\x00") {
		return nil, loader.Execution("sdb sqlite3: table: the name has a NUL")
	}
	place := url.URL{Scheme: "file", Opaque: url.PathEscape(file), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", place.String())
	if err != nil {
		return nil, loader.Execution("sdb sqlite3: open %s: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	t := &table{db, "SELECT value FROM " + quote(name) + " WHERE key=:key",
		"INSERT OR REPLACE INTO " + quote(name) + " VALUES (:key, :value)"}
	if v, ok := profile.Get("get_query"); ok {
		t.get = data.Str(v)
	}
	if v, ok := profile.Get("set_query"); ok {
		t.set = data.Str(v)
	}
	if err := t.create(ctx, profile, name); err != nil {
		return nil, errors.Join(loader.Execution("sdb sqlite3: open %s: %w", file, err), db.Close())
	}
	return t, nil
}

// quote returns a name in the form of SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// create runs the statements that create tables. As in Salt the first that fails, because its table
// exists, ends them.
func (t *table) create(ctx context.Context, profile *data.Map, name string) error {
	statements := data.TextsOf(profile.Value("create_statements"))
	if v, ok := profile.Get("create_table"); len(statements) == 0 && (!ok || data.Truth(v)) {
		statements = []string{"CREATE TABLE " + quote(name) + " (key text, value blob)",
			"CREATE UNIQUE INDEX " + quote(name+"_idx") + " ON " + quote(name) + " (key)"}
	}
	for _, s := range statements {
		_, err := t.ExecContext(ctx, s)
		if operational(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// operational reports whether an error is one of SQL, such as a table that exists.
func operational(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == 1 // SQLITE_ERROR
}

type getArgs struct {
	Key     string
	Profile *data.Map `default:"None"`
}

// get returns a value.
func get(ctx context.Context, a getArgs) (v any, err error) {
	if a.Profile.Len() == 0 {
		return nil, nil
	}
	t, err := open(ctx, a.Profile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var raw any
	err = t.QueryRowContext(ctx, t.get, sql.Named("key", a.Key)).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, loader.Execution("sdb sqlite3: read %s: %w", a.Key, err)
	}
	var text []byte
	switch raw := raw.(type) {
	case []byte:
		text = raw
	case string:
		text = []byte(raw)
	default:
		return nil, loader.Execution("sdb sqlite3: the value of %s is a %s, not bytes", a.Key,
			fmt.Sprintf("%T", raw))
	}
	if v, err = payload.UnmarshalText(text, payload.WireLimits()); err != nil {
		return nil, loader.Execution("sdb sqlite3: the value of %s is not in MessagePack: %w", a.Key, err)
	}
	return v, nil
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map `default:"None"`
}

// set sets a value and returns True.
func set(ctx context.Context, a setArgs) (v any, err error) {
	if a.Profile.Len() == 0 {
		return false, nil
	}
	raw, err := payload.MarshalBin(a.Value)
	if err != nil {
		return nil, loader.Execution("sdb sqlite3: the value has no form in MessagePack")
	}
	t, err := open(ctx, a.Profile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if _, err := t.ExecContext(ctx, t.set, sql.Named("key", a.Key), sql.Named("value", raw)); err != nil {
		return nil, loader.Execution("sdb sqlite3: set %s: %w", a.Key, err)
	}
	return true, nil
}

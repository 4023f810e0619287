// Package postgres is Salt's external pillar of that name: rows of a PostgreSQL database
// (salt/pillar/postgres.py). Package pillar/sqltree describes how they become a pillar.
//
//	postgres: {host: localhost, port: 5432, user: salt, pass: salt, db: salt}
//	ext_pillar:
//	  - postgres: {fromdb: {query: 'SELECT role, value FROM roles WHERE minion LIKE %s', depth: 1}}
//
// Columns of the types json and jsonb are decoded; arrays of texts and numbers become lists. As
// with Salt's driver, the minion's id is a literal in the query, so that the server chooses its
// type.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sqltree"
)

// dialTime is the timeout for connecting.
const dialTime = 5 * time.Second

// places is the limit of concurrent connections.
const places = 8

// A Source is the external pillar postgres.
type Source struct{ gate sqltree.Gate }

// New returns the source.
func New() *Source { return &Source{sqltree.NewGate(places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "postgres" }

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	queries, err := sqltree.Queries(argument)
	for _, q := range queries {
		_, placed := sqltree.Placed(q.Text, "$1")
		err = errors.Join(err, placed)
	}
	_, options := target(opts)
	return errors.Join(err, options)
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	return s.gate.Fetch(ctx, q, "POSTGRES",
		func(ctx context.Context) (sqltree.Database, error) { return open(ctx, q.Opts) })
}

// target parses the option postgres.
func target(opts *data.Map) (*pgx.ConnConfig, error) {
	o := data.NewMap("host", "localhost", "port", int64(5432), "user", "salt", "pass", "salt",
		"db", "salt")
	set, ok := opts.Value("postgres").(*data.Map)
	if !ok && opts.Value("postgres") != nil {
		return nil, errors.New("postgres: expected a dictionary with host, port, user, pass and db")
	}
	o.Update(set)
	port, err := loader.Int(o.Value("port"))
	if err != nil || port < 1 || port > 65535 {
		return nil, errors.New("postgres: port: expected the number of a port")
	}
	words := []string{"port=" + strconv.FormatInt(port, 10)}
	for key, name := range map[string]string{"host": "host", "user": "user", "password": "pass",
		"dbname": "db"} {
		if v := o.Value(name); v != nil {
			words = append(words, key+"='"+
				strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(data.Str(v))+"'")
		}
	}
	cfg, err := pgx.ParseConfig(strings.Join(words, " "))
	if err != nil {
		// pgx's text contains them
		return nil, errors.New("postgres: the options make no connection")
	}
	cfg.ConnectTimeout = dialTime
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	return cfg, nil
}

type connection struct{ conn *pgx.Conn }

func open(ctx context.Context, opts *data.Map) (sqltree.Database, error) {
	cfg, err := target(opts)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return connection{conn}, nil
}

// Close implements sqltree.Database.
func (c connection) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	return c.conn.Close(ctx)
}

// Query implements sqltree.Database.
func (c connection) Query(
	ctx context.Context, query, id string, names func([]string), row func([]any) error,
) error {
	query, err := sqltree.Placed(query, "$1")
	if err != nil {
		return err
	}
	rows, err := c.conn.Query(ctx, query, id)
	if err != nil {
		return fmt.Errorf("%w: %w", sqltree.ErrDatabase, err)
	}
	defer rows.Close()
	fields := rows.FieldDescriptions()
	var columns []string
	for _, f := range fields {
		columns = append(columns, f.Name)
	}
	if len(columns) > 0 {
		names(columns)
	}
	for rows.Next() {
		values := make([]any, len(fields))
		for i, raw := range rows.RawValues() {
			if values[i], err = c.value(fields[i], raw); err != nil {
				return fmt.Errorf("%w: column %s: %w", sqltree.ErrDatabase, fields[i].Name, err)
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%w: %w", sqltree.ErrDatabase, err)
	}
	return nil
}

// value decodes a value that the server sent as text. The error shows nothing of the value.
func (c connection) value(f pgconn.FieldDescription, raw []byte) (any, error) {
	if raw == nil {
		return nil, nil
	}
	s := string(raw)
	switch f.DataTypeOID {
	case pgtype.BoolOID:
		return s == "t", nil
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		return strconv.ParseInt(s, 10, 64)
	case pgtype.Float4OID, pgtype.Float8OID:
		return strconv.ParseFloat(s, 64)
	case pgtype.JSONOID, pgtype.JSONBOID:
		v, err := pyjson.Load(s)
		if err != nil {
			return nil, errors.New("not JSON")
		}
		return v, nil
	case pgtype.ByteaOID:
		var b []byte
		err := c.scan(f, raw, &b)
		return b, err
	case pgtype.Int2ArrayOID, pgtype.Int4ArrayOID, pgtype.Int8ArrayOID:
		var list []*int64
		err := c.scan(f, raw, &list)
		return values(list), err
	case pgtype.TextArrayOID, pgtype.VarcharArrayOID, pgtype.BPCharArrayOID:
		var list []*string
		err := c.scan(f, raw, &list)
		return values(list), err
	}
	return sqltree.Value(s), nil
}

func (c connection) scan(f pgconn.FieldDescription, raw []byte, to any) error {
	if c.conn.TypeMap().Scan(f.DataTypeOID, f.Format, raw, to) != nil {
		return errors.New("not in the form of its type")
	}
	return nil
}

// values converts an array to a list; NULL in it becomes nil.
func values[T any](array []*T) []any {
	list := make([]any, len(array))
	for i, v := range array {
		if v != nil {
			list[i] = *v
		}
	}
	return list
}

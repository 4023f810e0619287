package sqltree

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// Limits of one query.
const (
	maxRows  = 100_000
	maxBytes = 64 << 20
)

// patience is the timeout of all queries for one minion.
const patience = time.Minute

// A Database runs queries.
type Database interface {
	// Query runs a query with the minion's id. It calls names with the column names, and then row
	// for each row until that returns an error. Errors of the database wrap ErrDatabase.
	Query(ctx context.Context, query, id string, names func([]string), row func([]any) error) error
	Close() error
}

// ErrDatabase is wrapped by errors of the database.
var ErrDatabase = errors.New("error of the database")

// A Gate limits the concurrent connections of one source. Its zero value is not usable: see
// NewGate.
type Gate struct{ places chan struct{} }

// NewGate returns a gate for a number of connections.
func NewGate(places int) Gate { return Gate{make(chan struct{}, places)} }

// Fetch runs the queries of an entry on the database that open connects to. As in Salt an error of
// a query is logged, and the result so far is returned. An error of open is logged and replaced by
// one that minions may see.
func (g Gate) Fetch(
	ctx context.Context, q pillar.Query, name string, open func(context.Context) (Database, error),
) (*data.Map, error) {
	queries, err := Queries(q.Argument)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-ctx.Done():
		return nil, errors.New("the database is busy")
	}
	db, err := open(ctx)
	if err != nil {
		q.Log.Errorf("ext_pillar %s: connect: %s", name, err)
		return nil, errors.New("no connection to the database; please see the master's log")
	}
	tree := NewTree()
	for _, query := range queries {
		if err = tree.run(ctx, db, query, q.ID); err != nil {
			break
		}
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if errors.Is(err, ErrDatabase) {
		q.Log.Errorf("Error in ext_pillar %s for %s: %s", name, q.ID, err)
		err = nil
	}
	return tree.Result, err
}

func (t *Tree) run(ctx context.Context, db Database, q Query, id string) error {
	rows, bytes := 0, 0
	err := db.Query(ctx, q.Text, id, func(names []string) { t.Begin(q, names) },
		func(row []any) error {
			for _, v := range row {
				bytes += 16
				if s, ok := v.(string); ok {
					bytes += len(s)
				}
			}
			if rows++; rows > maxRows || bytes > maxBytes {
				return fmt.Errorf("a query yields more than %d rows or %d bytes", maxRows, maxBytes)
			}
			return t.Row(row)
		})
	if err != nil {
		return err
	}
	return t.End()
}

// Value converts a driver's value to one of package data.
func Value(v any) any {
	switch v := v.(type) {
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return append([]byte{}, v...)
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case float32:
		return float64(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999")
	case uint64:
		if v > 1<<63-1 {
			return fmt.Sprint(v)
		}
		return int64(v)
	}
	return v
}

// Conn is a Database that uses package database/sql.
type Conn struct {
	DB *sql.DB
	// Mark replaces %s, the minion's id, in a query; "" leaves queries unchanged.
	Mark string
	// Value converts a driver's value to one of package data; nil means the function Value.
	Value func(v any) any
}

// Close implements Database.
func (c *Conn) Close() error { return c.DB.Close() }

// Query implements Database.
func (c *Conn) Query(
	ctx context.Context, query, id string, names func([]string), row func([]any) error,
) (err error) {
	if c.Mark != "" {
		if query, err = Placed(query, c.Mark); err != nil {
			return err
		}
	}
	rows, err := c.DB.QueryContext(ctx, query, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	names(columns)
	for rows.Next() {
		if err := c.row(rows, len(columns), row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	return nil
}

func (c *Conn) row(rows *sql.Rows, n int, row func([]any) error) error {
	values, dest := make([]any, n), make([]any, n)
	for i := range values {
		dest[i] = &values[i]
	}
	if err := rows.Scan(dest...); err != nil {
		return fmt.Errorf("%w: %w", ErrDatabase, err)
	}
	value := c.Value
	if value == nil {
		value = Value
	}
	for i, v := range values {
		values[i] = value(v)
	}
	return row(values)
}

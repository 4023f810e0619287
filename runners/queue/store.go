package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/brineproject/brine/loader"
)

// A store is the directory of the queues.
type store struct{ dir string }

// maxQueueName is the maximum length of a queue's name.
const maxQueueName = 64

// queueName matches valid names of queues, which serve as file and table names.
var queueName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// with opens a queue, creating it if necessary, and calls do in a transaction.
func (s *store) with(ctx context.Context, queue string, do func(tx *sql.Tx) error) error {
	if len(queue) > maxQueueName || !queueName.MatchString(queue) {
		return loader.Invocation("%q cannot be the name of a queue: letters, digits and underscores only", queue)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("open queue %s: %w", queue, err)
	}
	dsn := url.URL{Scheme: "file", Path: filepath.Join(s.dir, queue+".db"),
		RawQuery: "_pragma=busy_timeout(10000)&_txlock=immediate"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return fmt.Errorf("queue %s: %w", queue, err)
	}
	if err := errors.Join(s.inTx(ctx, db, queue, do), db.Close()); err != nil {
		return fmt.Errorf("queue %s: %w", queue, err)
	}
	return nil
}

func (s *store) inTx(
	ctx context.Context, db *sql.DB, queue string, do func(tx *sql.Tx) error,
) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+quoted(queue)+
		" (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
	if err == nil {
		err = do(tx)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// quoted returns a checked name as an SQL identifier.
func quoted(queue string) string { return `"` + queue + `"` }

// add adds items. If one of them exists already, it adds nothing and twice is true.
func (s *store) add(ctx context.Context, queue string, items []string) (twice bool, err error) {
	err = s.with(ctx, queue, func(tx *sql.Tx) error {
		for _, item := range items {
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+quoted(queue)+"(name) VALUES(?)",
				item); err != nil {
				return err
			}
		}
		return nil
	})
	var wrong *sqlite.Error
	if errors.As(err, &wrong) && wrong.Code() == sqlitelib.SQLITE_CONSTRAINT_UNIQUE {
		return true, nil
	}
	return false, err
}

func (s *store) drop(ctx context.Context, queue string, items []string) error {
	return s.with(ctx, queue, func(tx *sql.Tx) error {
		for _, item := range items {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+quoted(queue)+" WHERE name = ?",
				item); err != nil {
				return err
			}
		}
		return nil
	})
}

// items returns the items of a queue, the oldest first.
func (s *store) items(ctx context.Context, queue string) (list []string, err error) {
	err = s.with(ctx, queue, func(tx *sql.Tx) error {
		list, err = first(ctx, tx, queue, -1)
		return err
	})
	return list, err
}

// take removes the n oldest items; all if n is negative. An item that read rejects stays in the
// queue, and the next one counts instead. read is called once for each item.
func (s *store) take(
	ctx context.Context, queue string, n int64, read func(item string) bool,
) (list []string, err error) {
	err = s.with(ctx, queue, func(tx *sql.Tx) error {
		all, err := first(ctx, tx, queue, -1)
		if err != nil {
			return err
		}
		for _, item := range all {
			if n >= 0 && int64(len(list)) >= n {
				return nil
			}
			if !read(item) {
				continue
			}
			list = append(list, item)
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+quoted(queue)+" WHERE name = ?",
				item); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func first(ctx context.Context, tx *sql.Tx, queue string, n int64) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM "+quoted(queue)+" ORDER BY id LIMIT ?", n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, rows.Err()
}

// names returns the existing queues, sorted.
func (s *store) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".db"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

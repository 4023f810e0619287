package sqlite3

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new file and a connection to it.
func server(t *testing.T) (*data.Map, *sql.DB) {
	t.Helper()
	opts := data.NewMap("id", "ma_master",
		"sqlite3.database", filepath.Join(t.TempDir(), "a?b #1.db"), "sqlite3.timeout", int64(5))
	db, _, err := connect(returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return opts, db
}

// saltTables creates Salt's tables as the documentation of Salt's returner does.
func saltTables() []string {
	return []string{
		"CREATE TABLE jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL)",
		"CREATE TABLE salt_returns (fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT, date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL)",
	}
}

func TestReturner(t *testing.T) {
	returnertest.SQL{
		Database: Database(), Server: server, Tables: saltTables(),
		Columns: "fun, jid, id, success, coalesce(fun_args, '-'), full_ret",
		Row: func(r returnertest.SQLRow) []string {
			return []string{r.Fun, r.JID, "web1", "1", r.FunArgs, r.Value}
		},
		Insert: insert,
		Time: func(seconds int64) string {
			return fmt.Sprintf("datetime(%d, 'unixepoch')", seconds)
		},
	}.Run(t)
}

func insert(r returnertest.SQLRow, at time.Time) (query string, args []any) {
	if at.IsZero() {
		at = time.Now() // the table has no default
	}
	return "INSERT INTO salt_returns (fun, jid, id, date, full_ret, success) VALUES (?, ?, 'web1', ?, ?, '1')",
		[]any{r.Fun, r.JID, at.Format(stampLayout), r.Value}
}

func TestCallersCannotChooseTheFile(t *testing.T) {
	opts, db := server(t)
	for _, statement := range saltTables() {
		returnertest.Exec(t, db, statement)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	ret := data.NewMap("success", true, "return", true, "retcode", int64(0),
		"jid", "20260301120000000000", "fun", "test.echo", "fun_args", []any{}, "id", "web1",
		"ret_kwargs", data.NewMap("database", other))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{Database().Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Invoke(t.Context(), "sqlite3.returner", []any{ret}, nil); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM salt_returns").Scan(&n); err != nil ||
		n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the file of the order was made")
	}
}

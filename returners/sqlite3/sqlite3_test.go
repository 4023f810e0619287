package sqlite3

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new file and a connection to it.
func server(t *testing.T) (*data.Map, *sql.DB) {
	t.Helper()
	opts := data.NewMap("id", "ma_master", "sqlite3.database", filepath.Join(t.TempDir(), "a?b #1.db"), "sqlite3.timeout", int64(5))
	db, _, err := connect(returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return opts, db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// rows returns what a query gives, each row as texts.
func rows(t *testing.T, db *sql.DB, query string, args ...any) [][]string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	names, _ := found.Columns()
	all := [][]string{}
	for found.Next() {
		row, dest := make([]string, len(names)), make([]any, len(names))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := found.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// saltTables are as the documentation of Salt's returner makes them.
func saltTables(t *testing.T, db *sql.DB) {
	t.Helper()
	exec(t, db, "CREATE TABLE jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL)")
	exec(t, db, "CREATE TABLE salt_returns (fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT, date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL)")
}

func TestContract(t *testing.T) {
	returnertest.Run(t, func(t *testing.T) returnertest.Opener {
		opts, db := server(t)
		saltTables(t, db)
		return func(ctx context.Context) (returners.JobCache, error) { return Database().Open(ctx, opts, nil) }
	})
}

func opened(t *testing.T, opts *data.Map, log logrus.FieldLogger) returners.JobCache {
	t.Helper()
	c, err := Database().Open(t.Context(), opts, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSaltsRowsAreThere(t *testing.T) {
	opts, db := server(t)
	c := opened(t, opts, nil)
	j := returnertest.Job(t, 1, "test.echo", "web1")
	r := returnertest.Return(t, j.ID, "web1", "größe \"x\" '); DROP TABLE jids; --", 1)
	for range 2 { // the second changes nothing
		if err := c.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SaveReturn(t.Context(), j.ID, r); err != nil {
			t.Fatal(err)
		}
	}
	load := `{"jid": "` + string(j.ID) + `", "fun": "test.echo", "tgt": "*", "arg": [1, "größe"]}`
	if d := cmp.Diff([][]string{{string(j.ID), load}}, rows(t, db, "SELECT jid, load FROM jids")); d != "" {
		t.Errorf("jids: -want +got\n%s", d)
	}
	value := `"größe \"x\" '); DROP TABLE jids; --"`
	want := [][]string{{"test.echo", string(j.ID), "web1", "1", "-", value}}
	if d := cmp.Diff(want, rows(t, db, "SELECT fun, jid, id, success, coalesce(fun_args, '-'), full_ret FROM salt_returns")); d != "" {
		t.Errorf("salt_returns: -want +got\n%s", d)
	}
}

func TestRowsOfSaltAreRead(t *testing.T) {
	opts, db := server(t)
	saltTables(t, db)
	c := opened(t, opts, nil)
	id := returnertest.Job(t, 1, "x").ID
	exec(t, db, "INSERT INTO jids VALUES (?, ?)", string(id), `{"jid": "`+string(id)+`", "fun": "test.ping", "tgt": "*", "x": NaN}`)
	for _, value := range []string{"false", "true"} { // the later one counts
		exec(t, db, "INSERT INTO salt_returns (fun, jid, id, date, full_ret, success) VALUES ('test.ping', ?, 'web1', ?, ?, '1')",
			string(id), time.Now().Format(stampLayout), value)
	}
	jobs, err := c.Jobs(t.Context(), returners.Filter{Fun: "test.ping"})
	if err != nil || len(jobs) != 1 || jobs[0].ID != id || !jobs[0].Started.Equal(returnertest.Job(t, 1, "x").Started) {
		t.Fatalf("Jobs = %v, %v", jobs, err)
	}
	got, err := c.Returns(t.Context(), id)
	if err != nil || len(got) != 1 || got[0].Minion != "web1" || !strings.Contains(string(got[0].Load), "\xa6return\xc3") {
		t.Fatalf("Returns = %q, %v", got, err)
	}
	if age := time.Since(got[0].Received); age < -time.Minute || age > time.Hour {
		t.Errorf("received %v", got[0].Received)
	}
	if fresh, err := c.SaveReturn(t.Context(), id, returnertest.Return(t, id, "web2", true, 1)); err != nil || !fresh {
		t.Errorf("SaveReturn = %v, %v", fresh, err)
	}
	if err := c.AddMinions(t.Context(), id, []string{"web3"}); err != nil {
		t.Error(err)
	}
}

func TestOldRowsOfSaltGo(t *testing.T) {
	opts, db := server(t)
	c := opened(t, opts, nil)
	for _, id := range []string{"20260101000000000000", "20260102000000000000"} {
		exec(t, db, "INSERT INTO jids VALUES (?, '{}')", id)
		at := time.Unix(int64(len(rows(t, db, "SELECT jid FROM jids"))*1000000), 0)
		exec(t, db, "INSERT INTO salt_returns VALUES ('test.ping', ?, 'web1', NULL, ?, 'true', '1')", id, at.Format(stampLayout))
	}
	exec(t, db, "INSERT INTO salt_events (tag, data, alter_time, master_id) VALUES ('a', '{}', datetime(1000000, 'unixepoch'), 'm'), ('b', '{}', datetime(2000000, 'unixepoch'), 'm')")
	for range 2 {
		if _, err := c.Clean(t.Context(), time.Unix(1500000, 0)); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"jids", "salt_returns", "salt_events"} {
			if n := len(rows(t, db, "SELECT 1 FROM "+table)); n != 1 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
	}
}

func env(opts *data.Map) *loader.Env { return &loader.Env{Opts: opts} }

func shelf(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(env(opts), []loader.Plugin{Database().Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sample() *data.Map {
	return data.NewMap("success", true, "return", data.NewMap("b", []byte("bytes"), "a", []any{int64(1), nil}), "retcode", int64(0),
		"jid", "20260301120000000000", "fun", "test.echo", "fun_args", []any{"x"}, "id", "web1")
}

func TestReturner(t *testing.T) {
	opts, db := server(t)
	saltTables(t, db)
	ret := sample()
	for range 2 { // the second changes nothing
		if _, err := shelf(t, opts).Invoke(t.Context(), "sqlite3.returner", []any{ret}, nil); err != nil {
			t.Fatal(err)
		}
	}
	value := `{"b": "bytes", "a": [1, null]}`
	want := [][]string{{"test.echo", "20260301120000000000", "web1", "1", "['x']", value}}
	if d := cmp.Diff(want, rows(t, db, "SELECT fun, jid, id, success, coalesce(fun_args, '-'), full_ret FROM salt_returns")); d != "" {
		t.Errorf("salt_returns: -want +got\n%s", d)
	}
	ret.Set("jid", "req")
	if _, err := shelf(t, opts).Invoke(t.Context(), "sqlite3.returner", []any{ret}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, db, "SELECT r.jid FROM salt_returns r JOIN jids j ON j.jid = r.jid WHERE r.jid <> 'req'")); n != 1 {
		t.Errorf("%d returns got a job of their own", n)
	}
}

func TestWhoOrdersCannotChooseTheFile(t *testing.T) {
	opts, db := server(t)
	saltTables(t, db)
	ret := sample()
	other := filepath.Join(t.TempDir(), "other.db")
	ret.Set("ret_kwargs", data.NewMap("database", other))
	if _, err := shelf(t, opts).Invoke(t.Context(), "sqlite3.returner", []any{ret}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(rows(t, db, "SELECT 1 FROM salt_returns")); n != 1 {
		t.Errorf("%d rows", n)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the file of the order was made")
	}
}

func TestEvents(t *testing.T) {
	opts, db := server(t)
	e, err := Database().OpenEvents(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	events := []returners.Event{
		{Tag: "salt/a", Data: data.NewMap("id", "web1", "_stamp", "2026-03-01T12:00:00.000000")},
		{Tag: "salt/b", Data: data.NewMap("x", []any{"ü'"})},
	}
	if err := e.ReturnEvents(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"salt/a", `{"id": "web1", "_stamp": "2026-03-01T12:00:00.000000"}`, "ma_master"}, {"salt/b", `{"x": ["ü'"]}`, "ma_master"}}
	if d := cmp.Diff(want, rows(t, db, "SELECT tag, data, master_id FROM salt_events ORDER BY id")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestLookup(t *testing.T) {
	opts, db := server(t)
	saltTables(t, db)
	returnertest.Lookup(t, Database().Plugin(), opts, true, func(jid, load string) { exec(t, db, "INSERT OR IGNORE INTO jids VALUES (?, ?)", jid, load) })
}

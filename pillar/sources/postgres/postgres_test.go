package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new database, which is dropped at the end of the test.
func server(t *testing.T, statements ...string) *data.Map {
	t.Helper()
	login := data.NewMap("host", "127.0.0.1", "user", "postgres", "pass", "", "db", "postgres")
	opts := data.NewMap("postgres", login)
	admin, err := connect(t, opts)
	need.That(t, "PostgreSQL on 127.0.0.1:5432 with the user postgres", err)
	name := returnertest.Name()
	exec(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() {
		_, _ = admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		_ = admin.Close(context.Background())
	})
	login.Set("db", name)
	db, err := connect(t, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for _, s := range statements {
		exec(t, db, s)
	}
	return opts
}

func connect(t *testing.T, opts *data.Map) (*pgx.Conn, error) {
	t.Helper()
	cfg, err := target(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return pgx.ConnectConfig(ctx, cfg)
}

func exec(t *testing.T, db *pgx.Conn, query string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func ask(t *testing.T, opts *data.Map, id string, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: id, Argument: argument, Opts: opts, Log: log})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func TestTypesOfColumns(t *testing.T) {
	opts := server(t, `CREATE TABLE m (id varchar(20), i int, f float8, d numeric(5,2), s text, n text, b bytea, w timestamp, j jsonb, y bool, a text[], k int[])`,
		`INSERT INTO m VALUES ('web1', -1, 0.5, 1.50, 'größe', NULL, '\xff00', '2020-01-02 03:04:05', '{"a": [1]}', true, '{x,NULL,"y,z"}', '{1,2}')`, "INSERT INTO m (id) VALUES ('db1')")
	want := "{'web1': {'i': -1, 'f': 0.5, 'd': '1.50', 's': 'größe', 'n': None, 'b': b'\\xff\\x00', 'w': '2020-01-02 03:04:05', 'j': {'a': [1]}, 'y': True, 'a': ['x', None, 'y,z'], 'k': [1, 2]}}"
	for range 2 {
		got, err, log := ask(t, opts, "web1",
			[]any{data.NewMap("query", "SELECT * FROM m WHERE id LIKE %s AND id NOT LIKE '%%x'",
				"depth", int64(1))})
		if err != nil || log != "" || data.Repr(got) != want {
			t.Errorf("got  %s, %v, log %s\nwant %s", data.Repr(got), err, log, want)
		}
	}
	got, err, _ := ask(t, opts, "web1",
		data.NewMap("doc", data.NewMap("query", "SELECT j FROM m WHERE id = %s", "as_json", true)))
	if err != nil || data.Repr(got) != "{'doc': {'a': [1]}}" {
		t.Errorf("as_json: %s, %v", data.Repr(got), err)
	}
	got, err, log := ask(t, opts, "web1", "SELECT %s, 'v'")
	if err != nil || data.Repr(got) != "{'web1': 'v'}" {
		t.Errorf("the id alone: %s, %v, log %s", data.Repr(got), err, log)
	}
}

func TestAnIDIsNoPartOfTheQuery(t *testing.T) {
	opts := server(t, "CREATE TABLE m (id text, v text)", "INSERT INTO m VALUES ('web1', 'x')")
	for _, id := range []string{"' OR '1'='1", `\' OR 1=1 --`, "$1"} {
		got, err, log := ask(t, opts, id, "SELECT id, v FROM m WHERE id = %s")
		if err != nil || got.Len() != 0 || log != "" {
			t.Errorf("%s: %s, %v, log %s", id, data.Repr(got), err, log)
		}
	}
}

func TestErrorsShowNoSecrets(t *testing.T) {
	opts := server(t)
	got, err, log := ask(t, opts, "web1", "SELECT * FROM nothing WHERE id = %s")
	if err != nil || got.Len() != 0 ||
		!strings.Contains(log, "Error in ext_pillar POSTGRES for web1: ") ||
		!strings.Contains(log, "nothing") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
	opts.Value("postgres").(*data.Map).Update(data.NewMap("pass", "hunter'2", "user", "nobody"))
	_, err, log = ask(t, opts, "web1", "SELECT %s")
	if err == nil || err.Error() != "no connection to the database; please see the master's log" ||
		!strings.Contains(log, "POSTGRES: connect: ") {
		t.Errorf("%v, log %s", err, log)
	}
	if strings.Contains(log, "hunter") {
		t.Error(log)
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		opts     *data.Map
		want     string
	}{
		{"SELECT %s", data.NewMap(), ""},
		{"SELECT 1", data.NewMap(), "0 places %s"},
		{[]any{data.NewMap("query", int64(1))}, data.NewMap(), "query 1: expected a query in SQL"},
		{"SELECT %s", data.NewMap("postgres", "x"), "postgres: expected a dictionary"},
		{"SELECT %s", data.NewMap("postgres", data.NewMap("port", "x")), "postgres: port: expected"},
	} {
		err := New().Check(c.argument, c.opts)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

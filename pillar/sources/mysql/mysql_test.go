package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new database, which is dropped at the end of the test.
func server(t *testing.T, statements ...string) *data.Map {
	t.Helper()
	login := data.NewMap("host", "127.0.0.1", "user", "root", "pass", nil, "db", "")
	db := connection(t, login)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	need.That(t, "MariaDB on 127.0.0.1:3306 with root without a password", db.PingContext(ctx))
	name := returnertest.Name()
	exec(t, db, "CREATE DATABASE "+name+" DEFAULT CHARACTER SET utf8mb4")
	t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE " + name) })
	login.Set("db", name)
	db = connection(t, login)
	for _, s := range statements {
		exec(t, db, s)
	}
	return data.NewMap("mysql", login)
}

func connection(t *testing.T, login *data.Map) *sql.DB {
	t.Helper()
	cfg, err := target(data.NewMap("mysql", login))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func ask(t *testing.T, opts *data.Map, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: "web1", Argument: argument, Opts: opts, Log: log})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func TestTypesOfColumns(t *testing.T) {
	opts := server(t, `CREATE TABLE m (id VARCHAR(20), i INT, u BIGINT UNSIGNED, f DOUBLE, g FLOAT, d DECIMAL(5,2), s TEXT, n TEXT, b BLOB, w DATETIME, j JSON, y TINYINT(1))`,
		`INSERT INTO m VALUES ('web1', -1, 2, 0.5, 0.25, 1.50, 'größe', NULL, 'bytes', '2020-01-02 03:04:05', '{"a": [1]}', 1), ('db1', 0, 0, 0, 0, 0, '', '', '', NULL, '{}', 0)`)
	want := "{'web1': {'i': -1, 'u': 2, 'f': 0.5, 'g': 0.25, 'd': '1.50', 's': 'größe', 'n': None, 'b': 'bytes', 'w': '2020-01-02 03:04:05', 'j': '{\"a\": [1]}', 'y': 1}}"
	for range 2 {
		got, err, log := ask(t, opts, []any{data.NewMap("query",
			"SELECT * FROM m WHERE id LIKE %s AND id NOT LIKE '%%x'", "depth", int64(1))})
		if err != nil || log != "" || data.Repr(got) != want {
			t.Errorf("got  %s, %v, log %s\nwant %s", data.Repr(got), err, log, want)
		}
	}
	got, err, _ := ask(t, opts, data.NewMap("doc",
		data.NewMap("query", "SELECT j FROM m WHERE id = %s", "as_json", true)))
	if err != nil || data.Repr(got) != "{'doc': {'a': [1]}}" {
		t.Errorf("as_json: %s, %v", data.Repr(got), err)
	}
}

func TestAnIDIsNoPartOfTheQuery(t *testing.T) {
	opts := server(t, "CREATE TABLE m (id VARCHAR(20), v TEXT)", "INSERT INTO m VALUES ('web1', 'x')")
	log, _ := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(),
		pillar.Query{ID: "' OR '1'='1", Argument: "SELECT id, v FROM m WHERE id = %s", Opts: opts, Log: log})
	if err != nil || got.Len() != 0 {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
}

func TestErrorsShowNoSecrets(t *testing.T) {
	opts := server(t)
	got, err, log := ask(t, opts, "SELECT * FROM nothing WHERE id = %s")
	if err != nil || got.Len() != 0 ||
		!strings.Contains(log, "Error in ext_pillar MySQL for web1: ") || !strings.Contains(log, "nothing") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
	opts.Value("mysql").(*data.Map).Set("pass", "hunter2")
	opts.Value("mysql").(*data.Map).Set("user", "nobody")
	_, err, log = ask(t, opts, "SELECT %s")
	if err == nil || err.Error() != "no connection to the database; please see the master's log" ||
		!strings.Contains(log, "MySQL: connect: ") {
		t.Errorf("%v, log %s", err, log)
	}
	if strings.Contains(log, "hunter2") {
		t.Error(log)
	}
}

func TestASilentServerDoesNotHoldTheCompilation(t *testing.T) {
	host, port := returnertest.Silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log, _ := logtest.NewNullLogger()
	opts := data.NewMap("mysql", data.NewMap("host", host, "port", int64(port)))
	if _, err := New().Pillar(ctx,
		pillar.Query{ID: "web1", Argument: "SELECT %s", Opts: opts, Log: log}); err == nil {
		t.Error("no error")
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
		{"SELECT %s", data.NewMap("mysql", "x"), "mysql: expected a dictionary"},
		{"SELECT %s", data.NewMap("mysql", data.NewMap("port", "x")), "mysql: port: expected"},
		{"SELECT %s", data.NewMap("mysql", data.NewMap("ssl", data.NewMap("ca", "/nope"))),
			"mysql: ssl: ca: open /nope"},
		{"SELECT %s", data.NewMap("mysql", data.NewMap("ssl", data.NewMap("cert", "/nope"))),
			"mysql: ssl: cert, key: open /nope"},
	} {
		err := New().Check(c.argument, c.opts)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

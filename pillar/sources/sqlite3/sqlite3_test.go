package sqlite3

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// file makes a database and returns the options that name it.
func file(t *testing.T, statements ...string) *data.Map {
	t.Helper()
	at := filepath.Join(t.TempDir(), "a b?.db")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opts := data.NewMap("sqlite3", data.NewMap("database", at, "timeout", int64(1)))
	name, err := target(opts)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return opts
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
	opts := file(t, "CREATE TABLE m (id TEXT, i INT, f REAL, s TEXT, n TEXT, b BLOB, y BOOLEAN)",
		"INSERT INTO m VALUES ('web1', -1, 0.5, 'größe', NULL, x'ff00', 1), ('db1', 0, 0, '', '', x'', 0)")
	for range 2 {
		got, err, log := ask(t, opts, []any{[]any{"SELECT * FROM m WHERE id LIKE ?", int64(1)}})
		if want := "{'web1': {'i': -1, 'f': 0.5, 's': 'größe', 'n': None, 'b': b'\\xff\\x00', 'y': 1}}"; err != nil || log != "" || data.Repr(got) != want {
			t.Errorf("got  %s, %v, log %s\nwant %s", data.Repr(got), err, log, want)
		}
	}
}

func TestErrors(t *testing.T) {
	got, err, log := ask(t, file(t), "SELECT * FROM nothing WHERE id = ?")
	if err != nil || got.Len() != 0 || !strings.Contains(log, "Error in ext_pillar SQLite3 for web1: ") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
	at := filepath.Join(t.TempDir(), "none.db")
	_, err, _ = ask(t, data.NewMap("sqlite3", data.NewMap("database", at)), "SELECT ?")
	if err == nil || err.Error() != "no connection to the database; please see the master's log" {
		t.Error(err)
	}
	if _, err := os.Stat(at); err == nil {
		t.Errorf("%s was made", at)
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		opts     *data.Map
		want     string
	}{
		{"SELECT ?", data.NewMap(), ""},
		{[]any{data.NewMap("query", "x", "depth", "y")}, data.NewMap(), "query 1: depth: expected"},
		{"SELECT ?", data.NewMap("sqlite3", "x"), "sqlite3: expected a dictionary"},
		{"SELECT ?", data.NewMap("sqlite3", data.NewMap("database", "x", "timeout", "y")),
			"sqlite3: timeout: expected"},
	} {
		err := New().Check(c.argument, c.opts)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

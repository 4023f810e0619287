package mysql_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver mysql

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states"
)

// base is the database of this test.
const base = "brine_query_q"

// server creates a database with a table of two rows.
func server(t *testing.T) *sql.DB {
	t.Helper()
	db := testdb.MariaDB(t, testdb.Names{Databases: []string{base}})
	testdb.Exec(t, db, "CREATE DATABASE "+base, "CREATE TABLE "+base+".t (id INT, name TEXT)",
		"INSERT INTO "+base+".t VALUES (1,'one'),(2,'two')")
	return db
}

// A host is a masterless minion in a directory.
type host struct {
	t     *testing.T
	dir   string
	shelf *loader.Registry
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir()}
	grains := data.NewMap("roles", []any{"db"})
	srv := h.at("states")
	opts := data.NewMap("id", "db1", "file_client", "local", "local", true,
		"cachedir", h.at("cache"), "conf_file", h.at("minion"),
		"fileserver_backend", []any{"roots"}, "file_roots", data.NewMap("base", []any{srv}),
		"hash_type", "sha256", "file_buffer_size", int64(262144), "mysql.host", "127.0.0.1",
		"mysql.user", "root")
	log := logging.Discard()
	env := &loader.Env{Opts: opts, Log: log, Grains: func() *data.Map { return grains },
		Pillar: func() *data.Map { return data.NewMap() }}
	functions, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	if h.shelf, err = loader.NewRegistry(functions.Env(), states.Plugins()); err != nil {
		t.Fatal(err)
	}
	h.write("cache/x", "")
	h.write("states/q.sql", "-- a comment\nINSERT INTO t VALUES (3, 'three');\nSELECT id, name FROM t\n ORDER BY id;\n")
	h.write("states/ins.sql", "UPDATE t SET name='x' WHERE id=1;\nUPDATE t SET name='one' WHERE id=1;\n")
	return h
}

func (h *host) at(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name, body string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.at(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.at(name), []byte(body), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(h.at(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *host) run(test bool, fun string, kwargs *data.Map) *data.Map {
	h.t.Helper()
	call := *change.CallOf(h.t.Context())
	call.Test, call.Run = test, "run"
	ctx := loader.WithContext(change.WithCall(h.t.Context(), &call), &loader.Context{})
	v, err := h.shelf.Invoke(ctx, fun, []any{"ask"}, kwargs)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		h.t.Fatalf("%s %s: %v, %v", fun, data.Repr(kwargs), v, err)
	}
	return ret
}

// timeless removes the execution time of a statement from a text.
func timeless(text string) string {
	return regexp.MustCompile(`'(human|raw)': ('[\d.e-]+m?s?'|[\d.e-]+)`).ReplaceAllString(text, "'$1': 0")
}

// testdata/query.json has the results of Salt 3006.0 on the same server: in test mode, in the real
// run, in test mode again and in a second run.
func TestQueries(t *testing.T) {
	server(t)
	h := newHost(t)
	src, err := os.ReadFile("testdata/query.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.NewReplacer("brine_q", base,
		"DIR", h.dir).Replace(string(src))))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("state", "name", "kwargs", "steps")
		for i, s := range c.List("steps") {
			step := s.(*data.Map)
			got := h.run(step.Value("test") == true, c.Text("state"), c.Object("kwargs"))
			if want := step.Value("return").(*data.Map); !sameQuery(got, want) {
				t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("state"),
					data.Repr(c.Object("kwargs")), i, data.Repr(got), data.Repr(want))
			}
		}
	}
	if got, want := h.read("out1"), "id:1\nname:uno\nid:2\nname:two\n"; got != want {
		t.Errorf("rows are in the file as %q, not %q", got, want)
	}
	if got, want := timeless(h.read("out2")),
		"query time:{'human': 0, 'raw': 0}\nrows affected:0\n"; got != want {
		t.Errorf("a statement without rows is in the file as %q, not %q", got, want)
	}
	const rows = "    results:\n    - id: '1'\n      name: uno\n    - id: '2'\n      name: two\n    rows returned: 2\n"
	if got := h.read("grains"); !strings.Contains(got,
		"g2:\n  k:\n    columns:\n    - id\n    - name\n") || !strings.Contains(got, rows) {
		t.Errorf("the grains are %q", got)
	}
}

// sameQuery compares results. If Salt ends with an exception, or treats an unreachable server as
// success, the result here is a failure with the reason.
func sameQuery(got, want *data.Map) bool {
	const unreachable = "Can't connect to "
	comment := want.Text("comment")
	switch {
	case comment == "{}" || strings.Contains(comment, "Traceback"):
		return got.Value("result") == false && !data.Truth(got.Value("changes")) &&
			regexp.MustCompile(`MySQL Error \d+: `).MatchString(got.Text("comment"))
	case strings.Contains(comment, unreachable):
		return got.Value("result") == false && strings.Contains(got.Text("comment"), unreachable)
	}
	return data.Equal(got.Value("name"), want.Value("name")) &&
		data.Equal(got.Value("result"), want.Value("result")) &&
		data.Equal(got.Value("changes"), want.Value("changes")) &&
		timeless(got.Text("comment")) == timeless(comment)
}

// Salt 3006.0 keeps only the first row of a statement in a file, and cannot write it to a file.
func TestRowsOfAFile(t *testing.T) {
	db := server(t)
	h := newHost(t)
	h.write("more.sql", "SELECT id FROM t ORDER BY id;\nSELECT name FROM t WHERE id=9;\nSELECT NULL AS n, name FROM t WHERE id=2;\n")
	kwargs := data.NewMap("database", base, "query_file", h.at("more.sql"), "output", h.at("out"),
		"overwrite", false)
	if would := h.run(true, "mysql_query.run_file", kwargs); would.Value("result") != nil {
		t.Errorf("test mode says %s", data.Repr(would))
	}
	if _, err := os.Lstat(h.at("out")); !os.IsNotExist(err) {
		t.Errorf("after test mode there is a file: %v", err)
	}
	const want = "{'rows returned': 3, 'columns': [('id',), ('name',), ('n', 'name')], 'results': [[{'id': '1'}, {'id': '2'}], [], " +
		"[{'n': None, 'name': 'two'}]], 'query time': {'raw': 0, 'human': 0}}"
	done := h.run(false, "mysql_query.run_file", kwargs)
	if done.Value("result") != true || timeless(done.Text("comment")) != want {
		t.Errorf("got %s", data.Repr(done))
	}
	if got, want := h.read("out"), "id:1\nid:2\nn:None\nname:two\n"; got != want {
		t.Errorf("the file has %q, not %q", got, want)
	}
	testdb.Exec(t, db, "DELETE FROM "+base+".t")
	again := h.run(false, "mysql_query.run_file", kwargs)
	if again.Value("result") != true || data.Truth(again.Value("changes")) || h.read("out") == "" {
		t.Errorf("the second time %s", data.Repr(again))
	}
}

// Salt 3006.0 ends with an exception in both cases.
func TestFiles(t *testing.T) {
	server(t)
	h := newHost(t)
	for _, test := range []bool{true, false} {
		for _, file := range []any{"salt://missing.sql", nil} {
			got := h.run(test, "mysql_query.run_file", data.NewMap("database", base, "query_file", file))
			if got.Value("result") != false || got.Text("comment") != "File "+data.Str(file)+
				" does not exist" {
				t.Errorf("got %s", data.Repr(got))
			}
		}
	}
	for range 2 {
		got := h.run(false, "mysql_query.run_file",
			data.NewMap("database", base, "query_file", "salt://ins.sql", "output", h.at("out")))
		if want := "rows affected:2\nquery time:{'raw': 0, 'human': 0}\n"; got.Value("result") != true || timeless(h.read("out")) != want {
			t.Errorf("got %s and a file %q", data.Repr(got), h.read("out"))
		}
	}
}

func TestRefusedFile(t *testing.T) {
	server(t)
	h := newHost(t)
	h.write("bad.sql", "SELECT nonsense FROM t;\n")
	got := h.run(false, "mysql_query.run_file",
		data.NewMap("database", base, "query_file", h.at("bad.sql"), "output", h.at("out")))
	if got.Value("result") != false || data.Truth(got.Value("changes")) ||
		!strings.HasPrefix(got.Text("comment"), "Database "+base+" is already present (MySQL Error 1054: ") {
		t.Errorf("got %s", data.Repr(got))
	}
	if _, err := os.Lstat(h.at("out")); !os.IsNotExist(err) {
		t.Errorf("a refused statement leaves a file: %v", err)
	}
}

func TestTargets(t *testing.T) {
	db := server(t)
	h := newHost(t)
	kwargs := data.NewMap("database", base, "query", "UPDATE t SET id=id+1")
	with := func(words ...any) *data.Map {
		all := kwargs.Clone()
		all.Update(data.NewMap(words...))
		return all
	}
	// A grain that is a list has no keys: nothing is executed.
	for _, test := range []bool{true, false} {
		got := h.run(test, "mysql_query.run", with("output", "grain", "grain", "roles", "key", "k"))
		if got.Value("result") != false || data.Truth(got.Value("changes")) {
			t.Errorf("a key of a list gives %s", data.Repr(got))
		}
	}
	var sum int
	if err := db.QueryRow("SELECT SUM(id) FROM " + base + ".t").Scan(&sum); err != nil || sum != 3 {
		t.Errorf("the sum is %d, %v", sum, err)
	}
	// A second key does not change the first.
	for _, key := range []string{"a", "b"} {
		if got := h.run(false, "mysql_query.run",
			with("output", "grain", "grain", "moved", "key", key)); got.Value("result") != true {
			t.Errorf("got %s", data.Repr(got))
		}
	}
	if got := regexp.MustCompile(`(?m)^  (\w+):$`).FindAllString(h.read("grains"),
		-1); len(got) != 2 || got[0] != "  a:" || got[1] != "  b:" {
		t.Errorf("the keys of the grain are %q: %s", got, h.read("grains"))
	}
	// A link is kept, and the file keeps its mode.
	h.write("real", "old")
	if err := os.Chmod(h.at("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", h.at("link")); err != nil {
		t.Fatal(err)
	}
	if got := h.run(false, "mysql_query.run", with("output", h.at("link"))); got.Value("result") != true {
		t.Errorf("got %s", data.Repr(got))
	}
	info, err := os.Lstat(h.at("real"))
	if link, _ := os.Readlink(h.at("link")); err != nil || link != "real" || info.Mode() != 0o600 ||
		!strings.Contains(h.read("real"), "rows affected:2") {
		t.Errorf("the link is to %q, the file %v has %q, %v", link, info.Mode(), h.read("real"), err)
	}
	// If a result could not be stored, the comment says both that the statement was executed and
	// that storing failed.
	got := h.run(false, "mysql_query.run", with("output", h.at("none/out")))
	if got.Value("result") != false ||
		!data.Equal(got.Value("changes"), data.NewMap("query", "Executed")) ||
		!strings.Contains(got.Text("comment"), "none") {
		t.Errorf("got %s", data.Repr(got))
	}
	if got := h.run(false, "mysql_query.run", with("output", os.DevNull)); got.Value("result") != true {
		t.Errorf("got %s", data.Repr(got))
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is no device any more: %v", os.DevNull, err)
	}
}

func TestFlags(t *testing.T) {
	server(t)
	h := newHost(t)
	// With found_rows the server counts rows that already have the desired values.
	for flag, want := range map[string]string{"found_rows": "'rows affected': 1}",
		"": "'rows affected': 0}"} {
		kwargs := data.NewMap("database", base, "query", "UPDATE t SET name='one' WHERE id=1")
		if flag != "" {
			kwargs.Set("client_flags", []any{flag})
		}
		for range 2 {
			if got := h.run(false, "mysql_query.run", kwargs); !strings.HasSuffix(got.Text("comment"), want) {
				t.Errorf("with flag %q got %s", flag, data.Repr(got))
			}
		}
	}
}

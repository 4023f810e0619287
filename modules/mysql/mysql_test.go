package mysql_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// server returns a connection to the server, if there is one.
func server(t *testing.T) *sql.DB {
	t.Helper()
	return testdb.MariaDB(t, testdb.Names{Prefix: "brine_", Databases: []string{"t1", "t_2"},
		Users: []string{"a", "b", "s"}})
}

func registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options() *data.Map { return data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "root") }

// stable removes the parts of a value that differ in each run.
func stable(v any) any {
	if m, ok := v.(*data.Map); ok && m.Has("query time") {
		m = m.Clone()
		m.Delete("query time")
		return m
	}
	return v
}

// ours are the results that differ from Salt's, by function and arguments.
func ours() map[string]any {
	return map[string]any{
		"mysql.alter_db ['brine_t_2', 'utf8mb4', 'utf8mb4_bin']": true,
	}
}

// testdata/calls.json has the results of Salt 3006.0 for the same server, one call after the other.
func TestCalls(t *testing.T) {
	server(t)
	r := registry(t, options())
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "kwargs", "value")
		said := c.Text("fun") + " " + data.Repr(c.List("args"))
		want, other := ours()[said]
		if !other {
			want = c.Value("value")
		}
		got, err := r.Invoke(t.Context(), c.Text("fun"), c.List("args"), c.Object("kwargs"))
		if err != nil || !data.Equal(stable(got), stable(want)) {
			t.Errorf("%s %s\n got %s, %v\nwant %s", said, data.Repr(c.Object("kwargs")),
				data.Repr(stable(got)), err, data.Repr(stable(want)))
		}
	}
}

func call(t *testing.T, r *loader.Registry, fun string, kwargs *data.Map, args ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), "mysql."+fun, args, kwargs)
	if err != nil {
		t.Errorf("%s: %v", fun, err)
	}
	return v
}

// These functions have results that differ each time.
func TestServer(t *testing.T) {
	server(t)
	r := registry(t, options())
	for range 2 {
		if v := data.Str(call(t, r, "version", nil)); !strings.Contains(v, ".") {
			t.Errorf("the version is %s", v)
		}
		if v := call(t, r, "status", nil).(*data.Map); !v.Has("Uptime") {
			t.Errorf("status returned %s", data.Repr(v))
		}
		for _, fun := range []string{"processlist", "showvariables", "showglobal", "user_list",
			"plugins_list", "db_list"} {
			if v, ok := call(t, r, fun, nil).([]any); !ok || len(v) == 0 {
				t.Errorf("%s returned %s", fun, data.Repr(v))
			}
		}
		if v, ok := call(t, r, "user_info", nil, "root").(*data.Map); !ok || v.Value("User") != "root" {
			t.Errorf("user_info returned %s", data.Repr(v))
		}
		if v := call(t, r, "db_repair", nil, "mysql", "plugin"); len(v.([]any)) == 0 {
			t.Error("db_repair returned nothing")
		}
	}
}

func TestFileQuery(t *testing.T) {
	server(t)
	r := registry(t, options())
	call(t, r, "db_create", nil, "brine_t1")
	file := filepath.Join(t.TempDir(), "x.sql")
	text := "-- first\nCREATE TABLE IF NOT EXISTS t (\n  a varchar(9) -- ;\n);\n/* x; */ REPLACE INTO t VALUES ('a;--b');\nSELECT a FROM t;\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := stable(call(t, r, "file_query", nil, "brine_t1", file))
	want := data.NewMap("rows returned", int64(1), "columns", []any{[]any{"a"}},
		"results", []any{[]any{[]any{"a;--b"}}}, "rows affected", int64(1))
	if !data.Equal(got, want) {
		t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
	}
	if got := call(t, r, "file_query", nil, "brine_t1", file+".none"); got != false {
		t.Errorf("a file that is not there returned %s", data.Repr(got))
	}
}

// The option file configures the connection, and arguments override it.
func TestOptionFile(t *testing.T) {
	server(t)
	file := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(file, []byte("[mysqld]\nport = 1\n[client]\nhost = 127.0.0.1\nuser = \"root\"\nport=3306\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := registry(t, data.NewMap("mysql.host", "nowhere.invalid"))
	for range 2 {
		if v := call(t, r, "db_exists", data.NewMap("connection_default_file", file), "mysql"); v != true {
			t.Errorf("by the file db_exists returned %v", v)
		}
		if v := call(t, r, "db_exists", data.NewMap("connection_default_file", file,
			"connection_port", int64(1)), "mysql"); v != false {
			t.Errorf("at another port db_exists returned %v", v)
		}
	}
}

// The server's error is stored for the states, without passwords.
func TestErrorWithoutPassword(t *testing.T) {
	server(t)
	r := registry(t, options())
	job := &loader.Context{}
	ctx := loader.WithContext(t.Context(), job)
	for range 2 {
		v, err := r.Invoke(ctx, "mysql.user_create", []any{"brine_a"},
			data.NewMap("password_hash", "sesame-open"))
		text, _ := job.Get("mysql.error")
		if v != false || err != nil || !strings.HasPrefix(data.Str(text), "MySQL Error 1372: ") ||
			strings.Contains(data.Str(text), "sesame") {
			t.Errorf("got %v, %v, %v", v, err, text)
		}
	}
}

// A call that reached the server with the user's own password leaves no connection behind.
func TestConnectionsClosed(t *testing.T) {
	db := server(t)
	if _, err := db.Exec("CREATE USER 'brine_a'@'%' IDENTIFIED BY 'secret'"); err != nil {
		t.Fatal(err)
	}
	r := registry(t, data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "brine_a"))
	for range 3 {
		if _, err := r.Invoke(t.Context(), "mysql.user_exists", []any{"brine_a", "%", "secret"},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	open := -1
	// the server notices the end of a connection in its own time
	for end := time.Now().Add(10 * time.Second); open != 0 && time.Now().Before(end); {
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'brine_a'").Scan(&open); err != nil {
			t.Fatal(err)
		}
	}
	if open != 0 {
		t.Errorf("%d connections stay", open)
	}
}

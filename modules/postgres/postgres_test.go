package postgres_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// host is the address of a PostgreSQL server that accepts postgres without a password.
const host = "127.0.0.1"

func psql(t *testing.T, db, statement string) error {
	t.Helper()
	return exec.Command("psql", "-q", "-h", host, "-U", "postgres", "-d", db, "-c", statement).Run()
}

// server skips the test if no server is available.
func server(t *testing.T) {
	t.Helper()
	testdb.PostgreSQL(t, testdb.Names{Prefix: "brine_", Databases: []string{"d1", "d2"},
		Users: []string{"u", "v", "g"}})
}

func registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options() *data.Map { return data.NewMap("postgres.host", host, "postgres.user", "postgres") }

// expectedErrors returns the calls that are errors in this module, with the error texts.
func expectedErrors() map[string]string {
	return map[string]string{
		"postgres.db_remove ['brine_none']": `database "brine_none" does not exist`,
	}
}

// testdata/calls.json holds the answers that Salt 3006.0 gave on the same server, one call after
// the other. It holds our answers where Salt turns psql's messages into keys, and for unknown types
// of objects.
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
		c.Only("fun", "args", "kwargs", "value", "error")
		said := c.Text("fun") + " " + data.Repr(c.List("args"))
		if strings.Contains(said, "insert into t") {
			script := "create table t (id serial, x int); create function f(int) returns int language sql as 'select 1'; create schema sch"
			if err := psql(t, "brine_d1", script); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Invoke(t.Context(), c.Text("fun"), c.List("args"), c.Object("kwargs"))
		if text := expectedErrors()[said]; text != "" {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s gives %s, %v", said, data.Repr(got), err)
			}
			continue
		}
		if c.Has("error") {
			if err == nil || !strings.HasSuffix(c.Text("error"), err.Error()) {
				t.Errorf("%s gives %s, %v, want %s", said, data.Repr(got), err, c.Text("error"))
			}
			continue
		}
		if err != nil || !data.Equal(got, c.Value("value")) {
			t.Errorf("%s %s\n got %s, %v\nwant %s", said, data.Repr(c.Object("kwargs")),
				data.Repr(got), err, data.Repr(c.Value("value")))
		}
	}
}

func call(t *testing.T, r *loader.Registry, fun string, kwargs *data.Map, args ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), "postgres."+fun, args, kwargs)
	if err != nil {
		t.Errorf("%s: %v", fun, err)
	}
	return v
}

func TestOwnerTo(t *testing.T) {
	server(t)
	r := registry(t, options())
	call(t, r, "db_create", nil, "brine_d1")
	call(t, r, "user_create", nil, "brine_u")
	script := `create schema "s x"; create table "s x"."t y" (id serial); create function f(int) returns int language sql as 'select 1'; create procedure p() language sql as ''`
	if err := psql(t, "brine_d1", script); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := call(t, r, "db_alter", data.NewMap("owner", "brine_u", "owner_recurse", true),
			"brine_d1"); got != true {
			t.Fatalf("db_alter gives %v", got)
		}
		rows := call(t, r, "psql_query", data.NewMap("maintenance_db", "brine_d1"),
			`SELECT count(*) AS n FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid WHERE r.rolname = 'brine_u' AND deptype = 'o'`)
		if n := rows.([]any)[0].(*data.Map).Text("n"); n < "5" {
			t.Errorf("the role owns %s objects", n)
		}
	}
	if err := psql(t, "postgres", "DROP DATABASE brine_d1"); err != nil {
		t.Error(err)
	}
}

func TestLists(t *testing.T) {
	server(t)
	r := registry(t, options())
	for range 2 {
		if v := data.Str(call(t, r, "version", nil)); !strings.Contains(v, ".") {
			t.Errorf("the version is %s", v)
		}
		for fun, name := range map[string]string{"db_list": "template1", "user_list": "postgres",
			"available_extensions": "plpgsql", "installed_extensions": "plpgsql"} {
			if v := call(t, r, fun, nil).(*data.Map); !v.Has(name) {
				t.Errorf("%s gives %s", fun, data.Repr(v))
			}
		}
		for _, fun := range []string{"get_available_extension", "get_installed_extension"} {
			if v, ok := call(t, r, fun, nil, "plpgsql").(*data.Map); !ok || v.Len() < 3 {
				t.Errorf("%s gives %s", fun, data.Repr(v))
			}
		}
	}
	if got := call(t, r, "owner_to", nil, "postgres", "brine_none"); got != false {
		t.Errorf("owner_to gives %v", got)
	}
}

// TestUnreachable checks that a server which cannot be queried is not treated as empty.
func TestUnreachable(t *testing.T) {
	server(t)
	r := registry(t, options())
	for fun, args := range map[string][]any{"db_exists": {"postgres"}, "user_exists": {"postgres"},
		"role_get": {"postgres"}, "db_list": nil, "create_metadata": {"x"}} {
		if got, err := r.Invoke(t.Context(), "postgres."+fun, args,
			data.NewMap("port", int64(1))); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s gives %s, %v", fun, data.Repr(got), err)
		}
	}
}

// TestPasswordsNotInArguments checks that neither a role's password nor the server's appears in
// arguments.
func TestPasswordsNotInArguments(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/argv\ncat >>" + dir +
		"/stdin\ncat \"$PGPASSFILE\" >>" + dir + "/pass\necho name\n"
	if err := os.WriteFile(dir+"/psql", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := registry(t, options())
	for range 2 {
		if got := call(t, r, "user_create", data.NewMap("rolepassword", "sesame-role", "password",
			"sesame:open"), "brine_u"); got != true {
			t.Errorf("got %v", got)
		}
	}
	argv, _ := os.ReadFile(dir + "/argv")
	stdin, _ := os.ReadFile(dir + "/stdin")
	pass, _ := os.ReadFile(dir + "/pass")
	if strings.Contains(string(argv), "sesame") || strings.Contains(string(stdin), "sesame-role") ||
		!strings.Contains(string(stdin), "PASSWORD E'md5") {
		t.Errorf("psql got %s and %s", argv, stdin)
	}
	if !strings.HasPrefix(string(pass), "127.0.0.1:*:*:postgres:sesame\\:open") {
		t.Errorf("the file of passwords has %s", pass)
	}
}

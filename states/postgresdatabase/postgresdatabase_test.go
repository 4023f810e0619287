package postgresdatabase_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vectors"
	"github.com/brineproject/brine/loader"
	modules "github.com/brineproject/brine/modules/all"
	"github.com/brineproject/brine/state/change"
	states "github.com/brineproject/brine/states/all"
)

// host is where a PostgreSQL server lets postgres in without a password.
const host = "127.0.0.1"

// prefix begins the names of the databases and roles of this test.
const prefix = "brine_database_"

// server skips the test where there is no server. What the test makes is removed, then and at the end.
func server(t *testing.T) {
	t.Helper()
	why := ""
	if conn, err := net.DialTimeout("tcp", host+":5432", time.Second); err != nil {
		why = "there is no PostgreSQL server at " + host
	} else {
		conn.Close()
	}
	if _, err := exec.LookPath("psql"); err != nil {
		why = "there is no program psql"
	}
	if why != "" && os.Getenv("BRINE_REQUIRE_ALL") == "1" {
		t.Fatal(why)
	}
	if why != "" {
		t.Skip(why)
	}
	clean := func() {
		for _, name := range []string{"DATABASE IF EXISTS @d1", "DATABASE IF EXISTS @d2", "ROLE IF EXISTS @u", "ROLE IF EXISTS @v", "ROLE IF EXISTS @g"} {
			statement := "DROP " + strings.ReplaceAll(name, "@", prefix)
			if out, err := exec.Command("psql", "-q", "-h", host, "-U", "postgres", "-c", statement).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", statement, out)
			}
		}
	}
	clean()
	t.Cleanup(clean)
}

func shelf(t *testing.T) *loader.Registry {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap(), Functions: functions, Call: functions.Invoke}
	r, err := loader.NewRegistry(env, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, r *loader.Registry, test bool, fun string, name any, kwargs *data.Map) *data.Map {
	t.Helper()
	call := *change.CallOf(t.Context())
	call.Test, call.Run = test, "run"
	v, err := r.Invoke(change.WithCall(t.Context(), &call), fun, []any{name}, kwargs)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s %s: %v, %v", fun, data.Repr(kwargs), v, err)
	}
	return ret
}

// testdata/runs.json has what Salt 3006.0 answered on the same server: in test mode, in the real run, in a second one and in test mode
// again.
func TestRuns(t *testing.T) {
	server(t)
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "brine_", prefix)))
	if err != nil {
		t.Fatal(err)
	}
	r := shelf(t)
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("state", "name", "kwargs", "steps")
		for i, s := range c.List("steps") {
			step := s.(*data.Map)
			got := run(t, r, step.Value("test") == true, c.Text("state"), c.Value("name"), c.Object("kwargs"))
			if want := step.Value("return"); !data.Equal(got, want) {
				t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("state"), data.Repr(c.Object("kwargs")), i, data.Repr(got), data.Repr(want))
			}
		}
	}
}

// A server that cannot be asked is a failure, in test mode too.
func TestUnreachable(t *testing.T) {
	server(t)
	r := shelf(t)
	kwargs := data.NewMap("db_host", host, "db_port", int64(1), "db_user", "postgres")
	if "database" == "privileges" {
		kwargs.Update(data.NewMap("object_name", "x", "object_type", "table", "privileges", []any{"SELECT"}))
	}
	for _, test := range []bool{true, false} {
		for _, fun := range []string{"present", "absent"} {
			got := run(t, r, test, "postgres_database."+fun, "x", kwargs)
			if got.Value("result") != false || !strings.Contains(got.Text("comment"), "refused") || data.Truth(got.Value("changes")) {
				t.Errorf("%s gives %s", fun, data.Repr(got))
			}
		}
	}
}

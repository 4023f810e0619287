package mysqldatabase_test

import (
	"database/sql"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/vectors"
	"github.com/brineproject/brine/loader"
	modules "github.com/brineproject/brine/modules/all"
	"github.com/brineproject/brine/state/change"
	states "github.com/brineproject/brine/states/all"
)

// address is where a MariaDB server lets root in without a password.
const address = "127.0.0.1:3306"

// prefix begins the names of the databases and users of this test.
const prefix = "brine_database_"

func server(t *testing.T) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		if os.Getenv("BRINE_REQUIRE_ALL") == "1" {
			t.Fatalf("there is no MySQL server at %s", address)
		}
		t.Skipf("there is no MySQL server at %s", address)
	}
	conn.Close()
	db, err := sql.Open("mysql", "root@tcp("+address+")/?interpolateParams=true")
	if err != nil {
		t.Fatal(err)
	}
	clean(t, db)
	t.Cleanup(func() {
		clean(t, db)
		db.Close()
	})
}

func clean(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, name := range []string{"t1", "t_2", "new"} {
		if _, err := db.Exec("DROP DATABASE IF EXISTS `" + prefix + name + "`"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "s"} {
		for _, host := range []string{"localhost", "%"} {
			if _, err := db.Exec("DROP USER IF EXISTS ?@?", prefix+name, host); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func shelf(t *testing.T) *loader.Registry {
	t.Helper()
	opts := data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "root")
	functions, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: opts, Functions: functions, Call: functions.Invoke}
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
	ctx := loader.WithContext(change.WithCall(t.Context(), &call), &loader.Context{})
	v, err := r.Invoke(ctx, fun, []any{name}, kwargs)
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
			if want := step.Value("return").(*data.Map); !same(got, want) {
				t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("state"), data.Repr(c.Object("kwargs")), i, data.Repr(got), data.Repr(want))
			}
		}
	}
}

// same compares results. That a server cannot be reached is told in the words of the library that was used; that a database cannot be
// removed is a failure with us.
func same(got, want *data.Map) bool {
	const unreachable = "Can't connect to "
	if strings.Contains(want.Text("comment"), unreachable) {
		return got.Value("result") == false && strings.Contains(got.Text("comment"), unreachable)
	}
	if got.Text("name") == "mysql" && got.Value("result") == false {
		return got.Text("comment") == "Unable to remove database mysql"
	}
	return data.Equal(got, want)
}

func TestCollation(t *testing.T) {
	server(t)
	r := shelf(t)
	name, kwargs := prefix+"new", data.NewMap("character_set", "latin1", "collate", "latin1_swedish_ci")
	run(t, r, false, "mysql_database.present", name, nil)
	would := run(t, r, true, "mysql_database.present", name, kwargs)
	if would.Value("result") != nil || !strings.Contains(would.Text("comment"), "Database collate ") {
		t.Errorf("test mode says %s", data.Repr(would))
	}
	done := run(t, r, false, "mysql_database.present", name, kwargs)
	if m, _ := done.Value("changes").(*data.Map); done.Value("result") != true || m.Len() != 2 {
		t.Errorf("got %s", data.Repr(done))
	}
	again := run(t, r, false, "mysql_database.present", name, kwargs)
	if again.Value("result") != true || data.Truth(again.Value("changes")) {
		t.Errorf("the second time %s", data.Repr(again))
	}
	// Newer servers tell utf8 as utf8mb3: to Salt 3006.0 such a database has to be updated each time, and is as wanted.
	old := data.NewMap("character_set", "utf8", "collate", "utf8_general_ci")
	for i := range 2 {
		got := run(t, r, false, "mysql_database.present", name, old)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != (i == 0) {
			t.Errorf("utf8 for the time %d gives %s", i+1, data.Repr(got))
		}
	}
	failed := run(t, r, false, "mysql_database.present", name, data.NewMap("character_set", "nonsense"))
	if failed.Value("result") != false {
		t.Errorf("a character set that is none gives %s", data.Repr(failed))
	}
}

package mysql_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

// prefix begins the names of the test's databases and users.
const prefix = "brine_state_"

// shelf returns the states. It skips the test if there is no server.
func shelf(t *testing.T) *teststate.Shelf {
	t.Helper()
	testdb.MariaDB(t, testdb.Names{
		Prefix: prefix, Databases: []string{"t1", "t_2", "new"}, Users: []string{"a", "b", "s"},
	})
	return teststate.NewShelf(t, data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "root"))
}

// The files of testdata have the results of Salt 3006.0 on the same server: in test mode, in the
// real run, in a second one and in test mode again.
func TestRuns(t *testing.T) {
	for _, state := range []string{"database", "grants", "user"} {
		t.Run(state, func(t *testing.T) {
			shelf(t).Replay(t, "testdata/"+state+".json", prefix, same)
		})
	}
}

// same compares results. The message for an unreachable server depends on the library. Failing to
// remove a database is a failure here.
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

// A password never appears, not even in error messages of the server.
func TestPasswordStaysSecret(t *testing.T) {
	s := shelf(t)
	for _, kwargs := range []*data.Map{data.NewMap("password", "sesame-open"),
		data.NewMap("password_hash", "sesame-hash")} {
		for range 2 {
			if got := data.Repr(s.Run(t, false, "mysql_user.present", prefix+
				"s", kwargs)); strings.Contains(got, "sesame") {
				t.Errorf("got %s", got)
			}
		}
	}
}

func TestSocket(t *testing.T) {
	s := shelf(t)
	kwargs := data.NewMap("unix_socket", true, "allow_passwordless", true)
	for i, changes := range []bool{true, false} {
		got := s.Run(t, false, "mysql_user.present", prefix+"s", kwargs)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != changes {
			t.Errorf("run %d gives %s", i, data.Repr(got))
		}
	}
	for i, changes := range []bool{true, false} {
		got := s.Run(t, false, "mysql_user.absent", prefix+"s", nil)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != changes {
			t.Errorf("removal %d gives %s", i, data.Repr(got))
		}
	}
}

func TestCollation(t *testing.T) {
	s := shelf(t)
	name, kwargs := prefix+"new", data.NewMap("character_set", "latin1", "collate", "latin1_swedish_ci")
	s.Run(t, false, "mysql_database.present", name, nil)
	would := s.Run(t, true, "mysql_database.present", name, kwargs)
	if would.Value("result") != nil || !strings.Contains(would.Text("comment"), "Database collate ") {
		t.Errorf("test mode says %s", data.Repr(would))
	}
	done := s.Run(t, false, "mysql_database.present", name, kwargs)
	if m, _ := done.Value("changes").(*data.Map); done.Value("result") != true || m.Len() != 2 {
		t.Errorf("got %s", data.Repr(done))
	}
	again := s.Run(t, false, "mysql_database.present", name, kwargs)
	if again.Value("result") != true || data.Truth(again.Value("changes")) {
		t.Errorf("the second time %s", data.Repr(again))
	}
	// Newer servers call utf8 utf8mb3. Salt 3006.0 updates such a database in each run; here it is
	// as desired.
	old := data.NewMap("character_set", "utf8", "collate", "utf8_general_ci")
	for i := range 2 {
		got := s.Run(t, false, "mysql_database.present", name, old)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != (i == 0) {
			t.Errorf("utf8 for the time %d gives %s", i+1, data.Repr(got))
		}
	}
	failed := s.Run(t, false, "mysql_database.present", name, data.NewMap("character_set", "nonsense"))
	if failed.Value("result") != false {
		t.Errorf("a character set that is none gives %s", data.Repr(failed))
	}
	for i, changes := range []bool{true, false} {
		got := s.Run(t, false, "mysql_database.absent", name, nil)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != changes {
			t.Errorf("removal %d gives %s", i, data.Repr(got))
		}
	}
}

func TestRevokeFirst(t *testing.T) {
	s := shelf(t)
	s.Run(t, false, "mysql_database.present", prefix+"t1", nil)
	s.Run(t, false, "mysql_user.present", prefix+"a", data.NewMap("password", "x"))
	grant := func(name, what string, first bool) *data.Map {
		kwargs := data.NewMap("grant", what, "database", prefix+"t1.*", "user", prefix+"a",
			"revoke_first", first)
		return s.Run(t, false, "mysql_grants.present", name, kwargs)
	}
	grant("one", "select,insert", false)
	for i, changes := range []bool{true, false} {
		if got := grant("two", "update", true); got.Value("result") != true ||
			data.Truth(got.Value("changes")) != changes {
			t.Errorf("run %d gives %s", i, data.Repr(got))
		}
	}
	gone := s.Run(t, false, "mysql_grants.absent",
		"one", data.NewMap("grant", "insert", "database", prefix+"t1.*", "user", prefix+"a"))
	if gone.Value("result") != true || data.Truth(gone.Value("changes")) {
		t.Errorf("insert is left: %s", data.Repr(gone))
	}
}

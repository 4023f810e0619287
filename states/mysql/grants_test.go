package mysqlgrants_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

// prefix begins the names of the databases and users of this test.
const prefix = "brine_grants_"

// shelf returns the states, where there is a server.
func shelf(t *testing.T) *teststate.Shelf {
	t.Helper()
	testdb.MariaDB(t, testdb.Names{Prefix: prefix, Databases: []string{"t1", "t_2", "new"}, Users: []string{"a", "b", "s"}})
	return teststate.NewShelf(t, data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "root"))
}

// testdata/runs.json has what Salt 3006.0 answered on the same server: in test mode, in the real run, in a second one and in test mode
// again.
func TestRuns(t *testing.T) { shelf(t).Replay(t, "testdata/runs.json", prefix, same) }

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

func TestRevokeFirst(t *testing.T) {
	s := shelf(t)
	s.Run(t, false, "mysql_database.present", prefix+"t1", nil)
	s.Run(t, false, "mysql_user.present", prefix+"a", data.NewMap("password", "x"))
	grant := func(name, what string, first bool) *data.Map {
		kwargs := data.NewMap("grant", what, "database", prefix+"t1.*", "user", prefix+"a", "revoke_first", first)
		return s.Run(t, false, "mysql_grants.present", name, kwargs)
	}
	grant("one", "select,insert", false)
	for i, changes := range []bool{true, false} {
		if got := grant("two", "update", true); got.Value("result") != true || data.Truth(got.Value("changes")) != changes {
			t.Errorf("run %d gives %s", i, data.Repr(got))
		}
	}
	gone := s.Run(t, false, "mysql_grants.absent", "one", data.NewMap("grant", "insert", "database", prefix+"t1.*", "user", prefix+"a"))
	if gone.Value("result") != true || data.Truth(gone.Value("changes")) {
		t.Errorf("insert is left: %s", data.Repr(gone))
	}
}

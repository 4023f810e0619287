package mysqluser_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

// prefix begins the names of the databases and users of this test.
const prefix = "brine_user_"

// shelf returns the states, where there is a server.
func shelf(t *testing.T) *teststate.Shelf {
	t.Helper()
	testdb.MariaDB(t, testdb.Names{Prefix: prefix, Databases: []string{"t1", "t_2", "new"}, Users: []string{"a", "b", "s"}})
	return teststate.NewShelf(t, data.NewMap("mysql.host", "127.0.0.1", "mysql.user", "root"))
}

// testdata/runs.json has what Salt 3006.0 answered on the same server: in test mode, in the real run, in a second one and in test mode
// again.
func TestRuns(t *testing.T) { shelf(t).Replay(t, "testdata/runs.json", prefix, same) }

// same compares results. That a server cannot be reached is told in the words of the library that was used.
func same(got, want *data.Map) bool {
	const unreachable = "Can't connect to "
	if strings.Contains(want.Text("comment"), unreachable) {
		return got.Value("result") == false && strings.Contains(got.Text("comment"), unreachable)
	}
	return data.Equal(got, want)
}

// A password never shows, not in what the server says of it either.
func TestPasswordStaysSecret(t *testing.T) {
	s := shelf(t)
	for _, kwargs := range []*data.Map{data.NewMap("password", "sesame-open"), data.NewMap("password_hash", "sesame-hash")} {
		for range 2 {
			if got := data.Repr(s.Run(t, false, "mysql_user.present", prefix+"s", kwargs)); strings.Contains(got, "sesame") {
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
}

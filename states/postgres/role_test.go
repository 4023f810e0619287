package postgresrole_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

// prefix begins the names of the databases and roles of this test.
const prefix = "brine_role_"

// shelf returns the states, where there is a server.
func shelf(t *testing.T) *teststate.Shelf {
	t.Helper()
	testdb.PostgreSQL(t, testdb.Names{Prefix: prefix, Databases: []string{"d1", "d2"}, Users: []string{"u", "v", "g"}})
	return teststate.NewShelf(t, data.NewMap())
}

// The files of testdata have what Salt 3006.0 answered on the same server: in test mode, in the real run, in a second one and in test
// mode again.
func TestRuns(t *testing.T) {
	for _, kind := range []string{"user", "group"} {
		t.Run(kind, func(t *testing.T) { shelf(t).Replay(t, "testdata/"+kind+".json", prefix, teststate.Equal) })
	}
}

// A server that cannot be asked is a failure, in test mode too.
func TestUnreachable(t *testing.T) {
	s := shelf(t)
	kwargs := data.NewMap("db_host", testdb.PostgreSQLHost, "db_port", int64(1), "db_user", "postgres")
	for _, fun := range []string{"postgres_user.present", "postgres_user.absent", "postgres_group.present", "postgres_group.absent"} {
		for _, test := range []bool{true, false} {
			got := s.Run(t, test, fun, "x", kwargs)
			if got.Value("result") != false || !strings.Contains(got.Text("comment"), "refused") || data.Truth(got.Value("changes")) {
				t.Errorf("%s gives %s", fun, data.Repr(got))
			}
		}
	}
}

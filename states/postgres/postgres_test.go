package postgres_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

// prefix begins the names of the test's databases and roles.
const prefix = "brine_state_"

// shelf returns the states. It skips the test if there is no server.
func shelf(t *testing.T) *teststate.Shelf {
	t.Helper()
	testdb.PostgreSQL(t, testdb.Names{
		Prefix: prefix, Databases: []string{"d1", "d2"}, Users: []string{"u", "v", "g"},
	})
	return teststate.NewShelf(t, data.NewMap())
}

// The files of testdata have the results of Salt 3006.0 on the same server: in test mode, in the
// real run, in a second one and in test mode again.
func TestRuns(t *testing.T) {
	for _, state := range []string{
		"database", "extension", "group", "privileges", "schema", "user",
	} {
		t.Run(state, func(t *testing.T) {
			shelf(t).Replay(t, "testdata/"+state+".json", prefix, teststate.Equal)
		})
	}
}

// An unreachable server is a failure, in test mode too.
func TestUnreachable(t *testing.T) {
	s := shelf(t)
	object := data.NewMap("object_name", "x", "object_type", "table", "privileges", []any{"SELECT"})
	dbname := data.NewMap("dbname", "postgres")
	for fun, needs := range map[string]*data.Map{
		"postgres_database.present":   nil,
		"postgres_database.absent":    nil,
		"postgres_extension.present":  nil,
		"postgres_extension.absent":   nil,
		"postgres_group.present":      nil,
		"postgres_group.absent":       nil,
		"postgres_privileges.present": object,
		"postgres_privileges.absent":  object,
		"postgres_schema.present":     dbname,
		"postgres_schema.absent":      dbname,
		"postgres_tablespace.present": data.NewMap("directory", "/x"),
		"postgres_tablespace.absent":  nil,
		"postgres_user.present":       nil,
		"postgres_user.absent":        nil,
	} {
		kwargs := data.NewMap("db_host", testdb.PostgreSQLHost, "db_port", int64(1), "db_user", "postgres")
		kwargs.Update(needs)
		for _, test := range []bool{true, false} {
			got := s.Run(t, test, fun, "x", kwargs)
			if got.Value("result") != false || !strings.Contains(got.Text("comment"), "refused") ||
				data.Truth(got.Value("changes")) {
				t.Errorf("%s gives %s", fun, data.Repr(got))
			}
		}
	}
}

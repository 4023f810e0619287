package postgres_test

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testdb"
	"github.com/brineproject/brine/internal/test/teststate"
)

const space = "brine_space"

// spaceDirectory creates a directory that belongs to the server on this host.
func spaceDirectory(t *testing.T) string {
	t.Helper()
	owner, err := user.Lookup("postgres")
	need.Have(t, "root, and a PostgreSQL server of the user postgres on this host", err == nil &&
		os.Geteuid() == 0)
	dir, err := os.MkdirTemp("/var/tmp", "brine-tablespace")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

func server(words ...any) *data.Map {
	all := data.NewMap(words...)
	all.Set("db_host", testdb.PostgreSQLHost)
	all.Set("db_user", "postgres")
	return all
}

// each runs a state in test mode, twice for real and in test mode again. The comments are those of
// Salt 3006.0.
func each(
	t *testing.T, s *teststate.Shelf, fun string, kwargs *data.Map, would, done, same string,
	changes *data.Map,
) {
	t.Helper()
	none := data.NewMap()
	for _, run := range []struct {
		test    bool
		result  any
		comment string
		changes *data.Map
	}{{true, nil, would, none}, {false, true, done, changes}, {false, true, same, none},
		{true, true, same, none}} {
		got := s.Run(t, run.test, "postgres_tablespace."+fun, space, kwargs)
		if got.Value("result") != run.result || got.Text("comment") != run.comment ||
			!data.Equal(got.Value("changes"), run.changes) {
			t.Errorf("%s, test=%v: %s, want %v %q", fun, run.test, data.Repr(got), run.result, run.comment)
		}
	}
}

func TestTablespaces(t *testing.T) {
	s, dir := shelf(t), spaceDirectory(t)
	t.Cleanup(func() { s.Run(t, false, "postgres_tablespace.absent", space, server()) })
	same := "Tablespace " + space + " is already present"
	each(t, s, "present", server("directory", dir), "Tablespace "+space+" is set to be created",
		"The tablespace "+space+" has been created", same, data.NewMap(space, "Present"))
	options := data.NewMap("seq_page_cost", 1.5, "random_page_cost", int64(3))
	each(t, s, "present", server("directory", dir, "options", options), "Tablespace "+space+
		" options to be\n                        altered", "Tablespace "+space+
		" opts changed", same, data.NewMap(space, data.NewMap("options", options)))
	each(t, s, "present", server("directory", dir, "owner", "pg_monitor"), "Tablespace "+space+
		" owner to be altered", "Tablespace "+space+
		" owner changed", same, data.NewMap(space, data.NewMap("owner", "pg_monitor")))
	for _, test := range []bool{true, false} {
		got := s.Run(t, test, "postgres_tablespace.present", space, server("directory", dir+"/other"))
		if got.Value("result") != false ||
			!strings.HasPrefix(got.Text("comment"), "Tablespace "+space+
				" is not at the right location. This is\n   ") {
			t.Errorf("another place gives %s", data.Repr(got))
		}
	}
	each(t, s, "absent", server(), "Tablespace "+space+" is set to be removed", "Tablespace "+space+
		" has been removed", "Tablespace "+space+
		" is not present, so it cannot be removed", data.NewMap(space, "Absent"))
}

// A missing directory is rejected by the server, and nothing is created.
func TestMissingDirectory(t *testing.T) {
	s := shelf(t)
	got := s.Run(t, false, "postgres_tablespace.present", space,
		server("directory", "/var/tmp/brine-no-such-folder"))
	if got.Value("result") != false || data.Truth(got.Value("changes")) {
		t.Errorf("got %s", data.Repr(got))
	}
}

package testdb

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// PostgreSQLHost is the address of the server.
const PostgreSQLHost = "127.0.0.1"

// PostgreSQL ends the test if there is no server or no program psql. Databases and users of the
// names are removed now and at the end of the test.
func PostgreSQL(t *testing.T, n Names) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(PostgreSQLHost, "5432"), time.Second)
	need.That(t, "PostgreSQL on 127.0.0.1:5432", err)
	conn.Close()
	need.Program(t, "psql")
	clean := func() {
		for _, statement := range n.removals(`"`, "") {
			Psql(t, "postgres", statement)
		}
	}
	clean()
	t.Cleanup(clean)
}

// Psql executes a statement in a database, and marks the test as failed if that fails.
func Psql(t *testing.T, db, statement string) {
	t.Helper()
	cmd := exec.Command("psql", "-q", "-h", PostgreSQLHost, "-U", "postgres", "-d", db,
		"-c", statement)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %s", statement, out)
	}
}

// Package testdb gives tests access to the database servers of this machine: MariaDB, whose root
// needs no password, and PostgreSQL, whose user postgres needs none, both on 127.0.0.1 and their
// default ports.
package testdb

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql

	"github.com/brineproject/brine/internal/test/need"
)

// Names describes the databases and users that a test creates.
type Names struct {
	Prefix           string // prefix of each, unique to the test
	Databases, Users []string
}

// MariaDB returns a connection to the server, or ends the test if there is none. Databases and
// users of the names are removed now and at the end of the test.
func MariaDB(t *testing.T, n Names) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:3306)/?interpolateParams=true")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	need.That(t, "MariaDB on 127.0.0.1:3306 with root without a password", db.PingContext(ctx))
	clean := func() {
		for _, statement := range n.removals("`", "@localhost", "@'%'") {
			Exec(t, db, statement)
		}
	}
	clean()
	t.Cleanup(func() {
		clean()
		db.Close()
	})
	return db
}

// Exec executes statements, and ends the test at the first that fails.
func Exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (n Names) removals(quote string, hosts ...string) []string {
	var all []string
	for _, name := range n.Databases {
		all = append(all, "DROP DATABASE IF EXISTS "+quote+n.Prefix+name+quote)
	}
	for _, name := range n.Users {
		for _, host := range hosts {
			all = append(all, "DROP USER IF EXISTS "+quote+n.Prefix+name+quote+host)
		}
	}
	return all
}

package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new database, which is dropped at the end of the test, and a
// connection to it.
func server(t *testing.T) (*data.Map, *sql.DB) {
	t.Helper()
	opts := data.NewMap("id", "ma_master", "mysql.host", "127.0.0.1", "mysql.user", "root",
		"mysql.pass", "None", "mysql.db", "mysql")
	admin, _, err := connect(returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	need.That(t, "MariaDB on 127.0.0.1:3306 with root without a password", admin.PingContext(ctx))
	name := returnertest.Name()
	returnertest.Exec(t, admin, "CREATE DATABASE "+name+" DEFAULT CHARACTER SET utf8")
	t.Cleanup(func() { _, _ = admin.Exec("DROP DATABASE " + name) })
	opts.Set("mysql.db", name)
	db, _, err := connect(returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return opts, db
}

// saltTables creates Salt's tables as the documentation of Salt's returner does.
func saltTables() []string {
	return []string{
		"CREATE TABLE `jids` (`jid` varchar(255) NOT NULL, `load` mediumtext NOT NULL, UNIQUE KEY `jid` (`jid`)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
		"CREATE TABLE `salt_returns` (`fun` varchar(50) NOT NULL, `jid` varchar(255) NOT NULL, `return` mediumtext NOT NULL, " +
			"`id` varchar(255) NOT NULL, `success` varchar(10) NOT NULL, `full_ret` mediumtext NOT NULL, `alter_time` TIMESTAMP DEFAULT CURRENT_TIMESTAMP, " +
			"KEY `id` (`id`), KEY `jid` (`jid`), KEY `fun` (`fun`)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
		"CREATE TABLE `salt_events` (`id` BIGINT NOT NULL AUTO_INCREMENT, `tag` varchar(255) NOT NULL, `data` mediumtext NOT NULL, " +
			"`alter_time` TIMESTAMP DEFAULT CURRENT_TIMESTAMP, `master_id` varchar(255) NOT NULL, PRIMARY KEY (`id`), KEY `tag` (`tag`)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
	}
}

func TestReturner(t *testing.T) {
	returnertest.SQL{
		Database: Database(), Server: server, Prefix: "mysql.", Tables: saltTables(),
		Columns: "fun, jid, `return`, id, success, full_ret",
		Row: func(r returnertest.SQLRow) []string {
			return []string{r.Fun, r.JID, r.Value, "web1", "1", r.Whole}
		},
		Insert: insert,
		Time:   func(seconds int64) string { return fmt.Sprintf("FROM_UNIXTIME(%d)", seconds) },
		Unstorable: func(t *testing.T, id job.ID) data.Raw {
			// utf8 of MySQL has no such characters
			return returnertest.Return(t, id, "web1", "\U0001F600", 1).Load
		},
	}.Run(t)
}

func insert(r returnertest.SQLRow, at time.Time) (query string, args []any) {
	const into = "INSERT INTO salt_returns (fun, jid, `return`, id, success, full_ret"
	args = []any{r.Fun, r.JID, r.Value, r.Whole}
	if at.IsZero() {
		return into + ") VALUES (?, ?, ?, 'web1', '1', ?)", args
	}
	return into + ", alter_time) VALUES (?, ?, ?, 'web1', '1', ?, FROM_UNIXTIME(?))",
		append(args, at.Unix())
}

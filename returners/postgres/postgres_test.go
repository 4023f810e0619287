package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new database, which is dropped at the end of the test, and a
// connection to it.
func server(t *testing.T, name string) (*data.Map, *sql.DB) {
	t.Helper()
	at := "returner." + name + "."
	opts := data.NewMap("id", "ma_master", at+"host", "127.0.0.1", at+"user", "postgres", at+"db",
		"postgres", at+"sslmode", "disable")
	admin, _, err := connect(name, returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	need.That(t, "PostgreSQL on 127.0.0.1:5432 with the user postgres", admin.PingContext(ctx))
	base := returnertest.Name()
	returnertest.Exec(t, admin, "CREATE DATABASE "+base)
	t.Cleanup(func() { _, _ = admin.Exec("DROP DATABASE " + base + " WITH (FORCE)") })
	opts.Set(at+"db", base)
	db, _, err := connect(name, returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return opts, db
}

// saltTables creates Salt's tables as the documentation of Salt's returners does.
func saltTables(name string) []string {
	if name == NameJSONB {
		return []string{
			"CREATE TABLE jids (jid varchar(255) NOT NULL primary key, load jsonb NOT NULL)",
			"CREATE INDEX idx_jids_jsonb on jids USING gin (load) WITH (fastupdate=on)",
			"CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return jsonb NOT NULL, id varchar(255) NOT NULL, " +
				"success varchar(10) NOT NULL, full_ret jsonb NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW())",
			"CREATE INDEX idx_salt_returns_full_ret ON salt_returns USING gin (full_ret) with (fastupdate=on)",
			"CREATE TABLE salt_events (id BIGSERIAL NOT NULL UNIQUE, tag varchar(255) NOT NULL, data jsonb NOT NULL, " +
				"alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL)",
		}
	}
	return []string{
		"CREATE TABLE jids (jid varchar(20) PRIMARY KEY, load text NOT NULL)",
		"CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return text NOT NULL, full_ret text, id varchar(255) NOT NULL, " +
			"success varchar(10) NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT now())",
		"CREATE TABLE salt_events (id BIGSERIAL NOT NULL UNIQUE, tag varchar(255) NOT NULL, data text NOT NULL, " +
			"alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL)",
	}
}

func TestReturner(t *testing.T) {
	for _, name := range []string{Name, NameJSONB} {
		t.Run(name, returnertest.SQL{
			Database:  Database(name),
			Server:    func(t *testing.T) (*data.Map, *sql.DB) { return server(t, name) },
			Prefix:    "returner." + name + ".",
			Tables:    saltTables(name),
			OwnTables: name == Name,
			Columns:   "fun, jid, return, id, success, full_ret",
			Row: func(r returnertest.SQLRow) []string {
				return []string{r.Fun, r.JID, r.Value, "web1", "true", r.Whole}
			},
			Insert:     insert,
			Time:       func(seconds int64) string { return fmt.Sprintf("to_timestamp(%d)", seconds) },
			Unstorable: unstorable,
			Binary:     name == NameJSONB,
		}.Run)
	}
}

func insert(r returnertest.SQLRow, at time.Time) (query string, args []any) {
	const into = "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret"
	args = []any{r.Fun, r.JID, r.Value, r.Whole}
	if at.IsZero() {
		return into + ") VALUES (?, ?, ?, 'web1', 'true', ?)", args
	}
	return into + ", alter_time) VALUES (?, ?, ?, 'web1', 'true', ?, to_timestamp(?))",
		append(args, at.Unix())
}

// unstorable returns a load with the name of a function that is too long.
func unstorable(t *testing.T, id job.ID) data.Raw {
	t.Helper()
	load, err := payload.MarshalBin(data.NewMap("id", "web1", "jid", string(id), "fun",
		returnertest.LongFun(), "return", true, "retcode", int64(0)))
	if err != nil {
		t.Fatal(err)
	}
	return load
}

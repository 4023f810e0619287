package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a new database, which is dropped with the test, and a connection to it.
func server(t *testing.T, name string) (*data.Map, *sql.DB) {
	t.Helper()
	at := "returner." + name + "."
	opts := data.NewMap("id", "ma_master", at+"host", "127.0.0.1", at+"user", "postgres", at+"db", "postgres", at+"sslmode", "disable")
	admin, _, err := connect(name, returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	need.That(t, "PostgreSQL on 127.0.0.1:5432 with the user postgres", admin.PingContext(ctx))
	base := returnertest.Name()
	exec(t, admin, "CREATE DATABASE "+base)
	t.Cleanup(func() { _, _ = admin.Exec("DROP DATABASE " + base + " WITH (FORCE)") })
	opts.Set(at+"db", base)
	db, _, err := connect(name, returners.MapSource(opts), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return opts, db
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// rows returns what a query gives, each row as texts.
func rows(t *testing.T, db *sql.DB, query string, args ...any) [][]string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	names, _ := found.Columns()
	all := [][]string{}
	for found.Next() {
		row, dest := make([]string, len(names)), make([]any, len(names))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := found.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		all = append(all, sorted(row))
	}
	return all
}

// sorted returns a row in which JSON has sorted keys, since jsonb keeps no order.
func sorted(row []string) []string {
	for i, text := range row {
		var v any
		if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &v) != nil {
			continue
		}
		b, _ := json.Marshal(v)
		row[i] = string(b)
	}
	return row
}

// saltTables are as the documentation of Salt's returners makes them.
func saltTables(t *testing.T, name string, db *sql.DB) {
	t.Helper()
	if name == NameJSONB {
		exec(t, db, "CREATE TABLE jids (jid varchar(255) NOT NULL primary key, load jsonb NOT NULL)")
		exec(t, db, "CREATE INDEX idx_jids_jsonb on jids USING gin (load) WITH (fastupdate=on)")
		exec(t, db, "CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return jsonb NOT NULL, id varchar(255) NOT NULL, "+
			"success varchar(10) NOT NULL, full_ret jsonb NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW())")
		exec(t, db, "CREATE INDEX idx_salt_returns_full_ret ON salt_returns USING gin (full_ret) with (fastupdate=on)")
		exec(t, db, "CREATE TABLE salt_events (id BIGSERIAL NOT NULL UNIQUE, tag varchar(255) NOT NULL, data jsonb NOT NULL, "+
			"alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL)")
		return
	}
	exec(t, db, "CREATE TABLE jids (jid varchar(20) PRIMARY KEY, load text NOT NULL)")
	exec(t, db, "CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return text NOT NULL, full_ret text, id varchar(255) NOT NULL, "+
		"success varchar(10) NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT now())")
	exec(t, db, "CREATE TABLE salt_events (id BIGSERIAL NOT NULL UNIQUE, tag varchar(255) NOT NULL, data text NOT NULL, "+
		"alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL)")
}

// both runs a test with each of the returners.
func both(t *testing.T, test func(t *testing.T, name string)) {
	for _, name := range []string{Name, NameJSONB} {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

func TestContract(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		returnertest.Run(t, func(t *testing.T) returnertest.Opener {
			opts, db := server(t, name)
			if name == NameJSONB {
				saltTables(t, name, db)
			}
			return func(ctx context.Context) (returners.JobCache, error) { return Database(name).Open(ctx, opts, nil) }
		})
	})
}

func opened(t *testing.T, name string, opts *data.Map, log logrus.FieldLogger) returners.JobCache {
	t.Helper()
	c, err := Database(name).Open(t.Context(), opts, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSaltsRowsAreThere(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		c := opened(t, name, opts, nil)
		j := returnertest.Job(t, 1, "test.echo", "web1")
		r := returnertest.Return(t, j.ID, "web1", "größe \"x\" '); DROP TABLE jids; --", 1)
		for range 2 { // the second changes nothing
			if err := c.SaveJob(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if _, err := c.SaveReturn(t.Context(), j.ID, r); err != nil {
				t.Fatal(err)
			}
		}
		load := `{"jid": "` + string(j.ID) + `", "fun": "test.echo", "tgt": "*", "arg": [1, "größe"]}`
		if d := cmp.Diff([][]string{sorted([]string{string(j.ID), load})}, rows(t, db, "SELECT jid, load FROM jids")); d != "" {
			t.Errorf("jids: -want +got\n%s", d)
		}
		value := `"größe \"x\" '); DROP TABLE jids; --"`
		whole := `{"cmd": "_return", "id": "web1", "jid": "` + string(j.ID) + `", "return": ` + value +
			`, "retcode": 0, "success": true, "fun": "test.echo", "_stamp": "2026-03-01T12:00:01.000000"}`
		want := [][]string{sorted([]string{"test.echo", string(j.ID), value, "web1", "true", whole})}
		if d := cmp.Diff(want, rows(t, db, "SELECT fun, jid, return, id, success, full_ret FROM salt_returns")); d != "" {
			t.Errorf("salt_returns: -want +got\n%s", d)
		}
	})
}

func TestWhatSaltsTableCannotHoldIsKept(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		log, hook := logtest.NewNullLogger()
		c := opened(t, name, opts, log)
		long := strings.Repeat("very", 20) + ".long"
		j := returnertest.Job(t, 1, long, "web1")
		if err := c.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		load, err := payload.MarshalBin(data.NewMap("id", "web1", "jid", string(j.ID), "fun", long, "return", true, "retcode", int64(0)))
		if err != nil {
			t.Fatal(err)
		}
		r := &returners.Return{Minion: "web1", Load: load, Received: time.Now()}
		if fresh, err := c.SaveReturn(t.Context(), j.ID, r); err != nil || !fresh {
			t.Fatalf("SaveReturn = %v, %v", fresh, err)
		}
		got, err := c.Returns(t.Context(), j.ID)
		if err != nil || len(got) != 1 || string(got[0].Load) != string(r.Load) {
			t.Errorf("Returns = %v, %v", got, err)
		}
		if n := len(rows(t, db, "SELECT jid FROM salt_returns")); n != 0 {
			t.Errorf("Salt's table has %d rows", n)
		}
		if e := hook.LastEntry(); e == nil || !strings.Contains(e.Message, "cannot hold the return of minion web1") {
			t.Errorf("the log says %v", e)
		}
	})
}

func TestRowsOfSaltAreRead(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		c := opened(t, name, opts, nil)
		id := returnertest.Job(t, 1, "x").ID
		exec(t, db, "INSERT INTO jids VALUES ($1, $2)", string(id), `{"jid": "`+string(id)+`", "fun": "test.ping", "tgt": "*"}`)
		for _, value := range []string{"false", "true"} { // the later one counts
			exec(t, db, "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret) VALUES ('test.ping', $1, $2, 'web1', 'true', $3)",
				string(id), value, `{"id": "web1", "jid": "`+string(id)+`", "return": `+value+`, "retcode": 0}`)
		}
		jobs, err := c.Jobs(t.Context(), returners.Filter{Fun: "test.ping"})
		if err != nil || len(jobs) != 1 || jobs[0].ID != id || !jobs[0].Started.Equal(returnertest.Job(t, 1, "x").Started) {
			t.Fatalf("Jobs = %v, %v", jobs, err)
		}
		got, err := c.Returns(t.Context(), id)
		if err != nil || len(got) != 1 || got[0].Minion != "web1" || !strings.Contains(string(got[0].Load), "\xa6return\xc3") {
			t.Fatalf("Returns = %q, %v", got, err)
		}
		if age := time.Since(got[0].Received); age < -time.Minute || age > time.Hour {
			t.Errorf("received %v", got[0].Received)
		}
		if fresh, err := c.SaveReturn(t.Context(), id, returnertest.Return(t, id, "web2", true, 1)); err != nil || !fresh {
			t.Errorf("SaveReturn = %v, %v", fresh, err)
		}
		if err := c.AddMinions(t.Context(), id, []string{"web3"}); err != nil {
			t.Error(err)
		}
	})
}

func TestOldRowsOfSaltGo(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		c := opened(t, name, opts, nil)
		for _, id := range []string{"20260101000000000000", "20260102000000000000"} {
			exec(t, db, "INSERT INTO jids VALUES ($1, '{}')", id)
			exec(t, db, "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, "+
				"alter_time) VALUES ('test.ping', $1, 'true', 'web1', 'true', '{}', to_timestamp($2))", id, len(rows(t, db, "SELECT jid FROM jids"))*1000000)
		}
		exec(t, db, "INSERT INTO salt_events (tag, data, alter_time, master_id) VALUES ('a', '{}', to_timestamp(1000000), 'm'), ('b', '{}', to_timestamp(2000000), 'm')")
		for range 2 {
			if _, err := c.Clean(t.Context(), time.Unix(1500000, 0)); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"jids", "salt_returns", "salt_events"} {
				if n := len(rows(t, db, "SELECT 1 FROM "+table)); n != 1 {
					t.Errorf("%s has %d rows", table, n)
				}
			}
		}
	})
}

func env(opts *data.Map) *loader.Env { return &loader.Env{Opts: opts} }

func shelf(t *testing.T, name string, opts *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(env(opts), []loader.Plugin{Database(name).Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sample() *data.Map {
	return data.NewMap("success", true, "return", data.NewMap("b", []byte("bytes"), "a", []any{int64(1), nil}), "retcode", int64(0),
		"jid", "20260301120000000000", "fun", "test.echo", "fun_args", []any{}, "id", "web1")
}

func TestReturner(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		ret := sample()
		ret.Set("ret_kwargs", data.NewMap("pass", "None"))
		for range 2 { // the second changes nothing
			if _, err := shelf(t, name, opts).Invoke(t.Context(), name+".returner", []any{ret}, nil); err != nil {
				t.Fatal(err)
			}
		}
		value := `{"b": "bytes", "a": [1, null]}`
		want := [][]string{sorted([]string{"test.echo", "20260301120000000000", value, "web1", "true",
			`{"success": true, "return": ` + value + `, "retcode": 0, "jid": "20260301120000000000", "fun": "test.echo", "fun_args": [], "id": "web1"}`})}
		if d := cmp.Diff(want, rows(t, db, "SELECT fun, jid, return, id, success, full_ret FROM salt_returns")); d != "" {
			t.Errorf("salt_returns: -want +got\n%s", d)
		}
		ret.Set("jid", "req")
		if _, err := shelf(t, name, opts).Invoke(t.Context(), name+".returner", []any{ret}, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(rows(t, db, "SELECT r.jid FROM salt_returns r JOIN jids j ON j.jid = r.jid WHERE r.jid <> 'req'")); n != 1 {
			t.Errorf("%d returns got a job of their own", n)
		}
	})
}

func TestAlternativeSettings(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		base := opts.Text("returner." + name + ".db")
		opts.Set("returner."+name+".db", "nowhere")
		opts.Set("alternative.returner."+name+".db", base)
		ret := sample()
		if _, err := shelf(t, name, opts).Invoke(t.Context(), name+".returner", []any{ret}, nil); err == nil {
			t.Error("there is a database nowhere")
		}
		ret.Set("ret_config", "alternative")
		if _, err := shelf(t, name, opts).Invoke(t.Context(), name+".returner", []any{ret}, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(rows(t, db, "SELECT 1 FROM salt_returns")); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestEvents(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		e, err := Database(name).OpenEvents(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		events := []returners.Event{
			{Tag: "salt/a", Data: data.NewMap("id", "web1", "_stamp", "2026-03-01T12:00:00.000000")},
			{Tag: "salt/b", Data: data.NewMap("x", []any{"ü'"})},
		}
		if err := e.ReturnEvents(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		want := [][]string{sorted([]string{"salt/a", `{"id": "web1", "_stamp": "2026-03-01T12:00:00.000000"}`, "ma_master"}), sorted([]string{"salt/b", `{"x": ["ü'"]}`, "ma_master"})}
		if d := cmp.Diff(want, rows(t, db, "SELECT tag, data, master_id FROM salt_events ORDER BY id")); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		events[1].Tag = strings.Repeat("x", 300)
		if err := e.ReturnEvents(t.Context(), events); !errors.Is(err, returners.ErrRefused) {
			t.Errorf("a tag that is too long: %v", err)
		}
		if n := len(rows(t, db, "SELECT 1 FROM salt_events")); n != 2 {
			t.Errorf("%d rows: a part of events that were refused stayed", n)
		}
	})
}

// TestAServerThatSaysNothing ends with its context, and names the server.
func TestAServerThatSaysNothing(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		host, port := returnertest.Silent(t)
		opts := data.NewMap("returner."+name+".host", host, "returner."+name+".port", int64(port))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		at := fmt.Sprintf("%s on %s:%d: ", name, host, port)
		if _, err := shelf(t, name, opts).Invoke(ctx, name+".returner", []any{sample()}, nil); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("returner = %v, want %s", err, at)
		}
		if _, err := Database(name).Open(ctx, opts, nil); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("Open = %v, want %s", err, at)
		}
	})
}

// TestACallerCannotSendThePasswordToAServerOfHis gives an order with the address of another server: the return goes to the
// configured one.
func TestACallerCannotSendThePasswordToAServerOfHis(t *testing.T) {
	both(t, func(t *testing.T, name string) {
		opts, db := server(t, name)
		saltTables(t, name, db)
		host, port := returnertest.Stranger(t)
		ret := sample()
		ret.Set("ret_kwargs", data.NewMap("host", host, "port", int64(port), "user", "evil", "db", "evil"))
		if _, err := shelf(t, name, opts).Invoke(t.Context(), name+".returner", []any{ret}, nil); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, db, "SELECT id FROM salt_returns"); len(got) != 1 {
			t.Errorf("%d returns are in the configured server, want 1", len(got))
		}
	})
}

func TestLookup(t *testing.T) {
	for _, name := range []string{Name, NameJSONB} {
		t.Run(name, func(t *testing.T) {
			opts, db := server(t, name)
			saltTables(t, name, db)
			returnertest.Lookup(t, Database(name).Plugin(), opts, false, func(jid, load string) {
				exec(t, db, "INSERT INTO jids VALUES ($1, $2) ON CONFLICT DO NOTHING", jid, load)
			})
		})
	}
}

package returnertest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/sqlcache"
)

// A SQL describes a returner for a database. [SQL.Run] tests it. Queries have a question mark for
// each parameter, and names in backquotes if MySQL needs that.
type SQL struct {
	Database sqlcache.Database
	// Server returns the options of a new database, and a connection to it.
	Server func(t *testing.T) (*data.Map, *sql.DB)
	// Prefix begins the options host, port and db; "" if the database is a file.
	Prefix string
	// Tables creates Salt's tables as the documentation of Salt's returner does.
	Tables []string
	// OwnTables means that the contract is tested with the tables of the returner, because a
	// column of Salt's is too short for the job IDs of the tests.
	OwnTables bool
	// Columns selects from salt_returns what Row returns for a return.
	Columns string
	Row     func(r SQLRow) []string
	// Insert returns the statement for a row of salt_returns, and its parameters. A zero time
	// stands for the default of the table.
	Insert func(r SQLRow, at time.Time) (query string, args []any)
	// Time returns the SQL expression for a time in seconds in salt_events.
	Time func(seconds int64) string
	// Unstorable returns a load that the columns of Salt's tables cannot hold; nil if they can hold
	// any.
	Unstorable func(t *testing.T, id job.ID) data.Raw
	// Binary means that JSON is stored without the order of keys, and is valid.
	Binary bool
}

// A SQLRow holds the columns of a return of minion web1.
type SQLRow struct {
	Fun, JID string
	FunArgs  string // Python's representation; "-" if the return has none
	Value    string // JSON of the returned value
	Whole    string // JSON of the return
}

// Run tests the returner.
func (s SQL) Run(t *testing.T) {
	t.Run("contract", s.testContract)
	for _, c := range []struct {
		name string
		test func(t *testing.T, s *sqlSubject)
		skip bool
	}{
		{"Salt's rows are written", testSaltRows, false},
		{"values that Salt's table cannot hold are kept", testUnstorable, s.Unstorable == nil},
		{"Salt's rows are read", testForeignRows, false},
		{"Salt's old rows are deleted", testOldRows, false},
		{"the returner stores returns", testReturner, false},
		{"ret_config selects other settings", testAlternative, s.Prefix == ""},
		{"events are stored", testEvents, false},
		{"callers cannot redirect the password", testRedirect, s.Prefix == ""},
		{"the functions that read", testLookup, false},
	} {
		if !c.skip {
			t.Run(c.name, func(t *testing.T) {
				opts, db := s.Server(t)
				c.test(t, &sqlSubject{SQL: s, t: t, opts: opts, db: db})
			})
		}
	}
	if s.Prefix != "" {
		t.Run("a silent server", s.testSilent)
	}
}

func (s SQL) testContract(t *testing.T) {
	Run(t, func(t *testing.T) Opener {
		opts, db := s.Server(t)
		if !s.OwnTables {
			(&sqlSubject{SQL: s, t: t, opts: opts, db: db}).saltTables()
		}
		return func(ctx context.Context) (returners.JobCache, error) {
			return s.Database.Open(ctx, opts, nil)
		}
	})
}

// testSilent checks that a call ends with its context, and that the error names the server.
func (s SQL) testSilent(t *testing.T) {
	host, port := Silent(t)
	opts := data.NewMap(s.Prefix+"host", host, s.Prefix+"port", int64(port))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	at := fmt.Sprintf("%s on %s:%d: ", s.Database.Dialect.Name, host, port)
	subject := &sqlSubject{SQL: s, t: t, opts: opts}
	if err := subject.invoke(ctx, sample()); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("returner = %v, want %s", err, at)
	}
	if _, err := s.Database.Open(ctx, opts, nil); err == nil ||
		!strings.Contains(err.Error(), at) {
		t.Errorf("Open = %v, want %s", err, at)
	}
}

// A sqlSubject is a returner with a new database.
type sqlSubject struct {
	SQL
	t    *testing.T
	opts *data.Map
	db   *sql.DB
}

// Exec runs a statement and ends the test if that fails.
func Exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// own returns a query in the form of the database.
func (s *sqlSubject) own(query string) string {
	if !s.Database.Dialect.Numbered {
		return query
	}
	query = strings.ReplaceAll(query, "`", "")
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(n), 1)
	}
	return query
}

func (s *sqlSubject) exec(query string, args ...any) {
	s.t.Helper()
	Exec(s.t, s.db, s.own(query), args...)
}

func (s *sqlSubject) saltTables() {
	s.t.Helper()
	for _, statement := range s.Tables {
		Exec(s.t, s.db, statement)
	}
}

// wantRows compares the rows of a query, each as texts.
func (s *sqlSubject) wantRows(query string, want ...[]string) {
	s.t.Helper()
	for _, row := range want {
		s.normalize(row)
	}
	if d := cmp.Diff(want, s.rows(query)); d != "" {
		s.t.Errorf("%s: -want +got\n%s", query, d)
	}
}

func (s *sqlSubject) rows(query string, args ...any) [][]string {
	s.t.Helper()
	query = s.own(query)
	found, err := s.db.QueryContext(s.t.Context(), query, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
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
			s.t.Fatal(err)
		}
		s.normalize(row)
		all = append(all, row)
	}
	return all
}

// normalize sorts the keys of JSON in a row, if the database does not keep their order.
func (s *sqlSubject) normalize(row []string) {
	for i, text := range row {
		var v any
		if !s.Binary || !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &v) != nil {
			continue
		}
		b, _ := json.Marshal(v)
		row[i] = string(b)
	}
}

// wantCount checks the number of rows in a table.
func (s *sqlSubject) wantCount(table string, want int) {
	s.t.Helper()
	if n := len(s.rows("SELECT 1 FROM " + table)); n != want {
		s.t.Errorf("%s has %d rows, want %d", table, n, want)
	}
}

// insert stores a return as Salt does.
func (s *sqlSubject) insert(r SQLRow, at time.Time) {
	s.t.Helper()
	query, args := s.Insert(r, at)
	s.exec(query, args...)
}

func (s *sqlSubject) open(log logrus.FieldLogger) returners.JobCache {
	s.t.Helper()
	c, err := s.Database.Open(s.t.Context(), s.opts, log)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// invoke calls the returner of a minion.
func (s *sqlSubject) invoke(ctx context.Context, ret *data.Map) error {
	s.t.Helper()
	plugin := s.Database.Plugin()
	r, err := loader.NewRegistry(&loader.Env{Opts: s.opts}, []loader.Plugin{plugin})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = r.Invoke(ctx, plugin.Name+".returner", []any{ret}, nil)
	return err
}

// store stores a return through the returner of a minion.
func (s *sqlSubject) store(ret *data.Map) {
	s.t.Helper()
	if err := s.invoke(s.t.Context(), ret); err != nil {
		s.t.Fatal(err)
	}
}

// sample returns a return with bytes, which JSON cannot hold.
func sample() *data.Map {
	return data.NewMap("success", true, "return",
		data.NewMap("b", []byte("bytes"), "a", []any{int64(1), nil}), "retcode", int64(0),
		"jid", "20260301120000000000", "fun", "test.echo", "fun_args", []any{"x"}, "id", "web1")
}

func testSaltRows(t *testing.T, s *sqlSubject) {
	c := s.open(nil)
	j := Job(t, 1, "test.echo", "web1")
	r := Return(t, j.ID, "web1", "größe \"x\" '); DROP TABLE jids; --", 1)
	for range 2 { // the second changes nothing
		if err := c.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SaveReturn(t.Context(), j.ID, r); err != nil {
			t.Fatal(err)
		}
	}
	s.wantRows("SELECT jid, `load` FROM jids", []string{string(j.ID),
		`{"jid": "` + string(j.ID) + `", "fun": "test.echo", "tgt": "*", "arg": [1, "größe"]}`})
	value := `"größe \"x\" '); DROP TABLE jids; --"`
	whole := `{"cmd": "_return", "id": "web1", "jid": "` + string(j.ID) + `", "return": ` + value +
		`, "retcode": 0, "success": true, "fun": "test.echo", "_stamp": "2026-03-01T12:00:01.000000"}`
	s.wantRows("SELECT "+s.Columns+" FROM salt_returns", s.Row(SQLRow{Fun: "test.echo",
		JID: string(j.ID), FunArgs: "-", Value: value, Whole: whole}))
}

func testUnstorable(t *testing.T, s *sqlSubject) {
	s.saltTables()
	log, hook := logtest.NewNullLogger()
	c := s.open(log)
	j := Job(t, 1, LongFun(), "web1")
	if err := c.SaveJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	r := &returners.Return{Minion: "web1", Load: s.Unstorable(t, j.ID), Received: time.Now()}
	if fresh, err := c.SaveReturn(t.Context(), j.ID, r); err != nil || !fresh {
		t.Fatalf("SaveReturn = %v, %v", fresh, err)
	}
	got, err := c.Returns(t.Context(), j.ID)
	if err != nil || len(got) != 1 || string(got[0].Load) != string(r.Load) {
		t.Errorf("Returns = %v, %v", got, err)
	}
	s.wantCount("salt_returns", 0)
	if e := hook.LastEntry(); e == nil ||
		!strings.Contains(e.Message, "cannot hold the return of minion web1") {
		t.Errorf("the log says %v", e)
	}
}

// LongFun returns a function name that is too long for a column of Salt's.
func LongFun() string { return strings.Repeat("very", 20) + ".long" }

func testForeignRows(t *testing.T, s *sqlSubject) {
	s.saltTables()
	c := s.open(nil)
	id := Job(t, 1, "x").ID
	load := `{"jid": "` + string(id) + `", "fun": "test.ping", "tgt": "*", "x": NaN}`
	if s.Binary {
		load = strings.Replace(load, "NaN", "1", 1)
	}
	s.exec("INSERT INTO jids VALUES (?, ?)", string(id), load)
	for _, value := range []string{"false", "true"} { // the later one counts
		s.insert(SQLRow{Fun: "test.ping", JID: string(id), Value: value,
			Whole: `{"id": "web1", "jid": "` + string(id) + `", "return": ` + value +
				`, "retcode": 0}`}, time.Time{})
	}
	jobs, err := c.Jobs(t.Context(), returners.Filter{Fun: "test.ping"})
	if err != nil || len(jobs) != 1 || jobs[0].ID != id ||
		!jobs[0].Started.Equal(Job(t, 1, "x").Started) {
		t.Fatalf("Jobs = %v, %v", jobs, err)
	}
	got, err := c.Returns(t.Context(), id)
	if err != nil || len(got) != 1 || got[0].Minion != "web1" ||
		!strings.Contains(string(got[0].Load), "\xa6return\xc3") ||
		s.Database.Dialect.Whole && !strings.Contains(string(got[0].Load), "\xa7retcode\x00") {
		t.Fatalf("Returns = %q, %v", got, err)
	}
	if age := time.Since(got[0].Received); age < -time.Minute || age > time.Hour {
		t.Errorf("received %v", got[0].Received)
	}
	if fresh, err := c.SaveReturn(t.Context(), id,
		Return(t, id, "web2", true, 1)); err != nil || !fresh {
		t.Errorf("SaveReturn = %v, %v", fresh, err)
	}
	if err := c.AddMinions(t.Context(), id, []string{"web3"}); err != nil {
		t.Error(err)
	}
}

func testOldRows(t *testing.T, s *sqlSubject) {
	c := s.open(nil)
	for i, id := range []string{"20260101000000000000", "20260102000000000000"} {
		s.exec("INSERT INTO jids VALUES (?, '{}')", id)
		s.insert(SQLRow{Fun: "test.ping", JID: id, Value: "true", Whole: "{}"},
			time.Unix(int64(i+1)*1000000, 0))
	}
	s.exec("INSERT INTO salt_events (tag, data, alter_time, master_id) VALUES ('a', '{}', " +
		s.Time(1000000) + ", 'm'), ('b', '{}', " + s.Time(2000000) + ", 'm')")
	for range 2 {
		if _, err := c.Clean(t.Context(), time.Unix(1500000, 0)); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"jids", "salt_returns", "salt_events"} {
			s.wantCount(table, 1)
		}
	}
}

func testReturner(t *testing.T, s *sqlSubject) {
	s.saltTables()
	ret := sample()
	ret.Set("ret_kwargs", data.NewMap("pass", "None"))
	for range 2 { // the second changes nothing
		s.store(ret)
	}
	value := `{"b": "bytes", "a": [1, null]}`
	whole := `{"success": true, "return": ` + value + `, "retcode": 0, ` +
		`"jid": "20260301120000000000", "fun": "test.echo", "fun_args": ["x"], "id": "web1"}`
	s.wantRows("SELECT "+s.Columns+" FROM salt_returns", s.Row(SQLRow{Fun: "test.echo",
		JID: "20260301120000000000", FunArgs: "['x']", Value: value, Whole: whole}))
	ret.Set("jid", "req")
	s.store(ret)
	s.wantCount("salt_returns r JOIN jids j ON j.jid = r.jid WHERE r.jid <> 'req'", 1)
}

func testAlternative(t *testing.T, s *sqlSubject) {
	s.saltTables()
	name := s.opts.Text(s.Prefix + "db")
	s.opts.Set(s.Prefix+"db", "nowhere")
	s.opts.Set("alternative."+s.Prefix+"db", name)
	ret := sample()
	if err := s.invoke(t.Context(), ret); err == nil {
		t.Error("there is a database nowhere")
	}
	ret.Set("ret_config", "alternative")
	s.store(ret)
	s.wantCount("salt_returns", 1)
}

func testEvents(t *testing.T, s *sqlSubject) {
	if !s.Database.OwnEvents {
		s.saltTables()
	}
	e, err := s.Database.OpenEvents(t.Context(), s.opts)
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
	s.wantRows("SELECT tag, data, master_id FROM salt_events ORDER BY id",
		[]string{"salt/a", `{"id": "web1", "_stamp": "2026-03-01T12:00:00.000000"}`, "ma_master"},
		[]string{"salt/b", `{"x": ["ü'"]}`, "ma_master"})
	if s.Unstorable == nil {
		return
	}
	events[1].Tag = strings.Repeat("x", 300)
	if err := e.ReturnEvents(t.Context(), events); !errors.Is(err, returners.ErrRefused) {
		t.Errorf("a tag that is too long: %v", err)
	}
	s.wantCount("salt_events", 2) // no part of the refused events
}

// testRedirect submits a job with the address of another server: the return goes to the configured
// one.
func testRedirect(t *testing.T, s *sqlSubject) {
	s.saltTables()
	host, port := Stranger(t)
	ret := sample()
	ret.Set("ret_kwargs", data.NewMap("host", host, "port", int64(port), "user", "evil", "db", "evil"))
	s.store(ret)
	s.wantCount("salt_returns", 1)
}

func testLookup(t *testing.T, s *sqlSubject) {
	s.saltTables()
	Lookup(t, s.Database.Plugin(), s.opts, !s.Database.Dialect.Whole, func(jid, load string) {
		if len(s.rows("SELECT 1 FROM jids WHERE jid = ?", jid)) == 0 {
			s.exec("INSERT INTO jids VALUES (?, ?)", jid, load)
		}
	})
}

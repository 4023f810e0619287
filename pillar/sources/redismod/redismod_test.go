package redismod

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/returners/returnertest"
)

// server returns the options of a database, a client for it, and a unique name of a key.
func server(t *testing.T) (*data.Map, *redis.Client, string) {
	t.Helper()
	opts := data.NewMap("redis.host", "127.0.0.1", "redis.db", int64(4))
	o, err := target(opts)
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(o)
	t.Cleanup(func() { db.Close() })
	need.That(t, "Redis on 127.0.0.1:6379", db.Ping(t.Context()).Err())
	name := returnertest.Name()
	t.Cleanup(func() { db.Del(context.Background(), name) })
	return opts, db, name
}

func ask(t *testing.T, opts *data.Map, id string, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: id, Argument: argument, Opts: opts, Log: log})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func TestKeysOfAllTypes(t *testing.T) {
	opts, db, name := server(t)
	for _, c := range []struct {
		command  []any
		argument any
		want     string
	}{
		{[]any{"SET", name, "größe"}, data.NewMap("function", "key_value"), "{'redis_pillar': 'größe'}"},
		{[]any{"SET", name, "\xff"}, "key_value", "{'redis_pillar': b'\\xff'}"},
		{[]any{"HSET", name, "b", "1", "a", "2"},
			data.NewMap("function", "key_value", "pillar_key", "mine"), "{'mine': {'b': '1', 'a': '2'}}"},
		{[]any{"RPUSH", name, "b", "a", "b"}, []any{"key_value", "mine"}, "{'mine': ['b', 'a', 'b']}"},
		{[]any{"SADD", name, "a"}, "key_value", "{'redis_pillar': ['a']}"},
		{[]any{"ZADD", name, "2", "b", "1", "c"}, "key_value", "{'redis_pillar': ['c', 'b']}"},
		{[]any{"XADD", name, "*", "a", "1"}, "key_value", "{}"},
		{[]any{"DEL", name}, "key_value", "{}"},
		{[]any{"DEL", name}, "key_json", "{}"},
		{[]any{"SET", name, ""}, "key_json", "{}"},
		{[]any{"SET", name, `{"b": 1, "a": [null]}`}, "key_json", "{'b': 1, 'a': [None]}"},
		{[]any{"SET", name, `[1]`}, "key_json", "{'redis_pillar': [1]}"},
		{[]any{"SET", name, `{"b": 1}`}, data.NewMap("function", "key_json", "pillar_key", "mine"),
			"{'mine': {'b': 1}}"},
		{[]any{"SET", name, "x"}, "_connect", "{}"},
	} {
		db.Del(t.Context(), name)
		if err := db.Do(t.Context(), c.command...).Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err, log := ask(t, opts, name, c.argument)
			if got == nil {
				got = data.NewMap()
			}
			if err != nil || log != "" || data.Repr(got) != c.want {
				t.Errorf("%q: %s, %v, log %s, want %s", c.command, data.Repr(got), err, log, c.want)
			}
		}
	}
}

// closed returns a port on which nobody listens.
func closed(t *testing.T) int64 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int64(l.Addr().(*net.TCPAddr).Port)
}

func TestErrorsAreReported(t *testing.T) {
	opts, db, name := server(t)
	db.Set(t.Context(), name, "{hunter2", 0)
	_, err, _ := ask(t, opts, name, "key_json")
	if err == nil || err.Error() != "the minion's key is not JSON" {
		t.Error(err)
	}
	pipe := db.Pipeline()
	pipe.Del(t.Context(), name)
	for i := range maxElements + 1 {
		pipe.RPush(t.Context(), name, strconv.Itoa(i))
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err, _ = ask(t, opts, name, "key_value"); err == nil ||
		!strings.Contains(err.Error(), "more than 100000 elements") {
		t.Error(err)
	}
	opts.Update(data.NewMap("redis.password", "hunter2", "redis.port", closed(t)))
	_, err, log := ask(t, opts, name, "key_value")
	if err == nil || err.Error() != "no answer of the database; please see the master's log" ||
		strings.Contains(log, "hunter2") || log == "" {
		t.Errorf("%v, log %s", err, log)
	}
}

func TestNoAnswerIsAnError(t *testing.T) {
	opts := data.NewMap("redis.host", "127.0.0.1", "redis.port", closed(t))
	for _, function := range []string{"key_value", "key_json"} {
		got, err, log := ask(t, opts, "web1", function)
		if err == nil || err.Error() != "no answer of the database; please see the master's log" ||
			log == "" {
			t.Errorf("%s: %s, %v, log %s", function, data.Repr(got), err, log)
		}
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		opts     *data.Map
		want     string
	}{
		{data.NewMap("function", "key_json"), data.NewMap("redis.port", "6379"), ""},
		{data.NewMap("pillar_key", "x"), data.NewMap(), "missing 1 required positional argument: 'function'"},
		{"key_text", data.NewMap(), "function: expected key_value or key_json, not 'key_text'"},
		{data.NewMap("function", "key_json", "key", "x"), data.NewMap(), "unexpected keyword argument 'key'"},
		{"key_json", data.NewMap("redis.port", int64(-1)), "redis.port: expected"},
		{"key_json", data.NewMap("redis.db", "x"), "redis.db: expected"},
	} {
		err := New().Check(c.argument, c.opts)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

package redis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

func testOptions() *data.Map {
	return data.NewMap("redis.host", "127.0.0.1", "redis.db", "3", "keep_jobs_seconds", int64(3600))
}

// server returns a unique prefix, whose keys are deleted at the end of the test.
func server(t *testing.T) (db *redis.Client, prefix string) {
	t.Helper()
	universal, _, err := connect(returners.MapSource(testOptions()), nil)
	if err != nil {
		t.Fatal(err)
	}
	db = universal.(*redis.Client)
	t.Cleanup(func() { db.Close() })
	need.That(t, "Redis on 127.0.0.1:6379", db.Ping(t.Context()).Err())
	prefix = returnertest.Name() + ":"
	t.Cleanup(func() {
		for _, key := range keysOf(t, db, prefix) {
			db.Del(context.Background(), prefix+key)
		}
	})
	return db, prefix
}

// keysOf returns all keys, without the prefix.
func keysOf(t *testing.T, db *redis.Client, prefix string) []string {
	t.Helper()
	var names []string
	it := db.Scan(context.Background(), 0, prefix+"*", 1000).Iterator()
	for it.Next(context.Background()) {
		names = append(names, strings.TrimPrefix(it.Val(), prefix))
	}
	return names
}

func opened(t *testing.T, prefix string) *Cache {
	t.Helper()
	c, err := open(t.Context(), testOptions(), Options{}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestContract(t *testing.T) {
	returnertest.Run(t, func(t *testing.T) returnertest.Opener {
		_, prefix := server(t)
		return func(ctx context.Context) (returners.JobCache, error) {
			return open(ctx, testOptions(), Options{}, prefix)
		}
	})
}

func TestSaltsKeysAreThere(t *testing.T) {
	db, prefix := server(t)
	c := opened(t, prefix)
	j := returnertest.Job(t, 1, "test.echo", "web1")
	r := returnertest.Return(t, j.ID, "web1", "größe\r\nDEL x", 1)
	for range 2 { // the second changes nothing
		if err := c.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SaveReturn(t.Context(), j.ID, r); err != nil {
			t.Fatal(err)
		}
	}
	id := string(j.ID)
	load := `{"jid": "` + id + `", "fun": "test.echo", "tgt": "*", "arg": [1, "größe"]}`
	if got := db.Get(t.Context(), prefix+"load:"+id).Val(); got != load {
		t.Errorf("load: %s, want %s", got, load)
	}
	whole := `{"cmd": "_return", "id": "web1", "jid": "` + id +
		`", "return": "größe\r\nDEL x", "retcode": 0, "success": true, ` +
		`"fun": "test.echo", "_stamp": "2026-03-01T12:00:01.000000"}`
	if d := cmp.Diff(map[string]string{"web1": whole},
		db.HGetAll(t.Context(), prefix+"ret:"+id).Val()); d != "" {
		t.Errorf("ret: -want +got\n%s", d)
	}
	if got := db.Get(t.Context(), prefix+"web1:test.echo").Val(); got != id {
		t.Errorf("the last job of test.echo: %s", got)
	}
	if d := cmp.Diff([]string{"web1"}, db.SMembers(t.Context(), prefix+"minions").Val()); d != "" {
		t.Errorf("minions: -want +got\n%s", d)
	}
	for _, key := range keysOf(t, db, prefix) {
		left := db.TTL(t.Context(), prefix+key).Val()
		lasts := key == "minions" || key == "brine:jobs"
		if lasts != (left < 0) || left > 2*time.Hour {
			t.Errorf("%s goes in %v", key, left)
		}
	}
}

func TestWhatSaltWroteIsRead(t *testing.T) {
	db, prefix := server(t)
	c := opened(t, prefix)
	id := returnertest.Job(t, 1, "x").ID
	db.SetEx(t.Context(), prefix+"load:"+string(id), `{"jid": "`+string(id)+
		`", "fun": "test.ping", "tgt": "*"}`, time.Hour)
	db.HSet(t.Context(), prefix+"ret:"+string(id), "web1", `{"id": "web1", "return": true}`, "web2", "{")
	jobs, err := c.Jobs(t.Context(), returners.Filter{Fun: "test.ping"})
	if err != nil || len(jobs) != 1 || jobs[0].ID != id {
		t.Fatalf("Jobs = %v, %v", jobs, err)
	}
	got, err := c.Returns(t.Context(), id)
	if err != nil || len(got) != 1 || string(got[0].Load) != "\x82\xa2id\xa4web1\xa6return\xc3" {
		t.Fatalf("Returns = %q, %v", got, err)
	}
	if fresh, err := c.SaveReturn(t.Context(), id,
		returnertest.Return(t, id, "web3", true, 1)); err != nil || !fresh {
		t.Errorf("SaveReturn = %v, %v", fresh, err)
	}
	if err := c.AddMinions(t.Context(), id, []string{"web4"}); err != nil {
		t.Error(err)
	}
}

func TestDamageCostsThatRecordOnly(t *testing.T) {
	db, prefix := server(t)
	c := opened(t, prefix)
	j, other := returnertest.Job(t, 1, "test.echo", "a"), returnertest.Job(t, 2, "test.echo", "a")
	for _, j := range []*returners.Job{j, other} {
		if err := c.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			if _, err := c.SaveReturn(t.Context(), j.ID,
				returnertest.Return(t, j.ID, id, id, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	db.HSet(t.Context(), c.keys(j.ID).returns, "a", "short")
	got, err := c.Returns(t.Context(), j.ID)
	if err != nil || len(got) != 1 || got[0].Minion != "b" {
		t.Errorf("Returns = %v, %v", got, err)
	}
	if fresh, err := c.SaveReturn(t.Context(), j.ID,
		returnertest.Return(t, j.ID, "a", "again", 1)); err != nil || !fresh {
		t.Errorf("SaveReturn in place of a damaged one = %v, %v", fresh, err)
	}
	db.SetRange(t.Context(), c.keys(j.ID).job, 20, "x")
	jobs, err := c.Jobs(t.Context(), returners.Filter{})
	if err != nil || len(jobs) != 1 || jobs[0].ID != other.ID {
		t.Errorf("Jobs = %v, %v", jobs, err)
	}
	if err := c.SaveJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Job(t.Context(), j.ID); err != nil {
		t.Error(err)
	}
}

func TestReturner(t *testing.T) {
	db, prefix := server(t)
	r := &minionReturner{from: returners.MapSource(testOptions()), keep: time.Hour, prefix: prefix}
	ret := data.NewMap("jid", "20260301120000000000", "id", "web1",
		"fun", []any{"test.ping", "test.echo"}, "return", []byte("x"), "ret_kwargs", data.NewMap("db", "3"))
	for range 2 {
		if err := r.Return(t.Context(), ret); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"web1": `{"jid": "20260301120000000000", "id": "web1", "fun": ["test.ping", "test.echo"], "return": "x"}`}
	if d := cmp.Diff(want, db.HGetAll(t.Context(), prefix+"ret:20260301120000000000").Val()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		opts *data.Map
		want string
	}{
		"port":    {data.NewMap("redis.port", "x"), "redis.port: 'x' is not an integer"},
		"cluster": {data.NewMap("redis.cluster_mode", true), "redis.cluster.startup_nodes names no server"},
		"a cluster cannot hold jobs": {data.NewMap("redis.cluster_mode", true, "redis.cluster.startup_nodes",
			[]any{data.NewMap("host", "127.0.0.1", "port", int64(1))}),
			"redis.cluster_mode: a cluster cannot hold a job cache"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), c.opts, Options{}); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("Open = %v, want %s", err, c.want)
			}
		})
	}
}

// TestSilentServer ends with its context, and the error names the server.
func TestSilentServer(t *testing.T) {
	host, port := returnertest.Silent(t)
	opts := data.NewMap("redis.host", host, "redis.port", int64(port))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	at := fmt.Sprintf("redis on %s:%d: ", host, port)
	r := &minionReturner{from: returners.MapSource(opts)}
	if err := r.Return(ctx, data.NewMap("id", "web1", "jid", "1")); err == nil ||
		!strings.Contains(err.Error(), at) {
		t.Errorf("returner = %v, want %s", err, at)
	}
	if _, err := Open(ctx, opts, Options{}); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("Open = %v, want %s", err, at)
	}
}

// TestCallersCannotRedirectThePassword submits a job with the address of another server:
// the return goes to the configured one.
func TestCallersCannotRedirectThePassword(t *testing.T) {
	db, prefix := server(t)
	host, port := returnertest.Stranger(t)
	node := data.NewMap("host", host, "port", int64(port))
	for name, kwargs := range map[string]*data.Map{
		"server":  data.NewMap("host", host, "port", int64(port), "db", "7"),
		"cluster": data.NewMap("cluster_mode", true, "startup_nodes", []any{node}),
		"socket":  data.NewMap("unix_socket_path", "/nonexistent"),
	} {
		r := &minionReturner{from: returners.MapSource(testOptions()), keep: time.Hour, prefix: prefix}
		ret := data.NewMap("jid", "20260301120000000000", "id", name, "fun", "test.ping",
			"return", true, "ret_kwargs", kwargs)
		if err := r.Return(t.Context(), ret); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !db.HExists(t.Context(), prefix+"ret:20260301120000000000", name).Val() {
			t.Errorf("%s: the return is not in the configured server", name)
		}
	}
}

// TestAMinionChoosesNoKeys returns under the names of other keys, and with invalid functions: no
// key of a job changes, and none stays forever.
func TestAMinionChoosesNoKeys(t *testing.T) {
	db, prefix := server(t)
	c := opened(t, prefix)
	j := returnertest.Job(t, 1, "test.echo", "web1")
	if err := c.SaveJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	was := db.Get(t.Context(), c.keys(j.ID).load).Val()
	own := &minionReturner{from: returners.MapSource(testOptions()), keep: time.Hour, prefix: prefix}
	for n, evil := range [][2]string{{"load", string(j.ID)}, {"ret", string(j.ID)},
		{"brine", "jobs"}, {"brine", "job:" + string(j.ID)}, {"load", "test.ping"},
		{"web1", strings.Repeat("x.", 1000)}, {"web1", "x"}, {"web1", "a.b\r\nc"}, {"web1", ""},
		{"minions", "a.b"}, {"ret:x", "a.b"}, {"web2", "test.ping"}} {
		id := job.ID(fmt.Sprintf("202603011200000001%02d", n))
		load, err := payload.MarshalBin(data.NewMap("id", evil[0], "jid", string(id),
			"fun", evil[1], "return", true))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SaveJob(t.Context(),
			&returners.Job{ID: id, Load: j.Load, Minions: []string{evil[0]},
				Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if fresh, err := c.SaveReturn(t.Context(), id,
			&returners.Return{Minion: evil[0], Load: load, Received: time.Now()}); err != nil || !fresh {
			t.Errorf("return of %.60q is kept: %v, %v", evil, fresh, err)
		}
		if err := own.Return(t.Context(),
			data.NewMap("id", evil[0], "jid", string(id), "fun", evil[1], "return", true)); err != nil {
			t.Errorf("returner of %.60q: %v", evil, err)
		}
	}
	if now := db.Get(t.Context(), c.keys(j.ID).load).Val(); now != was || was == "" {
		t.Errorf("the load of the job is %q, want %q", now, was)
	}
	if kind := db.Type(t.Context(), prefix+"brine:jobs").Val(); kind != "zset" {
		t.Errorf("the list of jobs is a %s", kind)
	}
	for _, key := range keysOf(t, db, prefix) {
		if key != "minions" && key != "brine:jobs" && db.TTL(t.Context(), prefix+key).Val() <= 0 {
			t.Errorf("key %.60q stays for ever", key)
		}
		if len(key) > 300 || strings.HasPrefix(key, "web1:") {
			t.Errorf("key %.60q was made for what is no function", key)
		}
	}
	if got := db.Get(t.Context(), prefix+"web2:test.ping").Val(); got != "20260301120000000111" {
		t.Errorf("the last job of a function is %q", got)
	}
}

func TestLookup(t *testing.T) {
	db, prefix := server(t)
	plugin := loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &minionReturner{from: returners.EnvSource(env),
			keep: time.Hour, prefix: prefix}), nil
	}}
	returnertest.Lookup(t, plugin, testOptions(), false,
		func(jid, load string) { db.SetEx(t.Context(), prefix+"load:"+jid, load, time.Hour) })
}

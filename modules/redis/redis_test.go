package redis

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
)

// testdata/calls.json has the results of Salt 3006.18 with a Redis, each call after the one before. ROOT is
// its port.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: daemon.Redis(t), Plugins: []loader.Plugin{config.Plugin(), Plugin()}})
}

func registry(t *testing.T, opts ...any) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(opts...)},
		[]loader.Plugin{config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call is a call of a function and the beginning of its result or error.
type call struct {
	fun  string
	args []any
	want string
}

func check(t *testing.T, r *loader.Registry, kwargs *data.Map, all ...call) {
	t.Helper()
	for _, c := range all {
		got, err := r.Invoke(t.Context(), "redis."+c.fun, c.args, kwargs)
		text := data.Repr(got)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.HasPrefix(text, c.want) || c.want == "" {
			t.Errorf("%s %s gives %s, want %s", c.fun, data.Repr(c.args), text, c.want)
		}
	}
}

// Functions whose results change from call to call, over the options of a minion.
func TestServer(t *testing.T) {
	port := daemon.Redis(t, "--requirepass", "marker")
	r := registry(t, "redis.port", port, "redis.host", "127.0.0.1", "redis.password", "marker")
	now := time.Now().Unix()
	check(t, r, nil,
		call{"set_key", []any{"a", "x"}, "True"}, call{"expire", []any{"a", int64(1000)}, "True"},
		call{"ttl", []any{"a"}, "1000"}, call{"ttl", []any{"none"}, "-2"},
		call{"delete", []any{"a", "none"}, "1"}, call{"delete", []any{"a", "none"}, "0"},
		call{"hset", []any{"h", "x", int64(1)}, "1"}, call{"hset", []any{"h", "x", int64(1)}, "0"},
		call{"hincrby", []any{"h", "x"}, "2"}, call{"hincrby", []any{"h", "x", int64(3)}, "5"},
		call{"hincrbyfloat", []any{"h", "x", 0.5}, "5.5"}, call{"hsetnx", []any{"h", "y", "1"}, "1"},
		call{"hdel", []any{"h", "x", "z"}, "1"}, call{"bgsave", nil, "True"}, call{"bgrewriteaof", nil, "True"},
		call{"set_key", []any{"big", strings.Repeat("x", maxValue+1)}, "True"},
		call{"get_key", []any{"big"}, "error: the value of big has more than"},
		call{"get_master_ip", nil, "{'master_host': '', 'master_port': ''}"})
	for _, fun := range []string{"time", "lastsave"} {
		got, err := r.Invoke(t.Context(), "redis."+fun, nil, nil)
		if n, ok := got.(int64); err != nil || !ok || n < now-60 || n > now+60 {
			t.Errorf("%s gives %v, %v", fun, got, err)
		}
	}
	got, err := r.Invoke(t.Context(), "redis.info", nil, nil)
	m, _ := got.(*data.Map)
	space, _ := m.Value("db0").(*data.Map)
	if err != nil || data.Str(m.Value("tcp_port")) != port || space.Value("keys") != int64(2) {
		t.Errorf("info gives %s, %v", data.Repr(got), err)
	}
	check(t, r, data.NewMap("password", "wrong"),
		call{"get_key", []any{"a"}, "error: WRONGPASS"}, call{"ping", nil, "error: WRONGPASS"})
	check(t, registry(t, "redis.port", port, "redis.host", "127.0.0.1"), nil,
		call{"get_key", []any{"a"}, "error: Authentication required."}, call{"ping", nil, "False"})
	check(t, r, nil, call{"shutdown", nil, "True"}, call{"shutdown", nil, "False"}, call{"ping", nil, "False"})
	check(t, registry(t, "redis.port", "x"), nil, call{"ping", nil, "error: 'x' is not a port"})
}

// A Sentinel tells where the master is, and slaveof makes a replica of it.
func TestSentinel(t *testing.T) {
	master, replica, port := daemon.Redis(t), daemon.Redis(t), daemon.Port(t)
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "port " + port + "\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 " + master + " 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.Start(t, "tcp", net.JoinHostPort("127.0.0.1", port), "redis-server", file, "--sentinel")
	r := registry(t, "redis_sentinel.host", "127.0.0.1", "redis_sentinel.port", port)
	at := "{'master_host': '127.0.0.1', 'master_port': " + master + "}"
	check(t, r, nil, call{"sentinel_get_master_ip", []any{"mymaster"}, at},
		call{"sentinel_get_master_ip", []any{"other"}, "error: the Sentinel knows no master other"})
	kwargs := data.NewMap("host", "127.0.0.1", "port", replica)
	for range 2 {
		check(t, r, kwargs, call{"slaveof", []any{"127.0.0.1", master}, "True"}, call{"get_master_ip", nil, at})
	}
	check(t, r, kwargs, call{"slaveof", nil, "True"}, call{"get_master_ip", nil, "{'master_host': ''"})
}

func FuzzInformation(f *testing.F) {
	f.Add("# Server\r\nredis_version:7.0\r\ndb0:keys=1,expires=0\r\nmodule:name=a,ver=1\r\ncmdstat_host:1:calls=2\r\nx\r\n")
	f.Add("a:b=,=\ncmdstat_host:\nmodule:")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := information(text); err != nil || v == nil {
			t.Errorf("%v, %v", v, err)
		}
	})
}

package redis_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/redis"
	state "github.com/brineproject/brine/states/redis"
)

// network is a module network of a host with two addresses.
func network() loader.Plugin {
	return loader.Plugin{Name: "network", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("ip_addrs", func(context.Context, loader.NoArgs) (any,
			error) {
			return []any{"192.0.2.1", "192.0.2.2"}, nil
		})}}, nil
	}}
}

func shelf(t *testing.T) *runs.Shelf {
	return runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1", "redis.host", "127.0.0.1")},
		[]loader.Plugin{config.Plugin(), network(), module.Plugin()}, state.Plugin())
}

func fill(t *testing.T, port string) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("redis.port", port, "redis.host", "127.0.0.1")},
		[]loader.Plugin{config.Plugin(), module.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []any{"a", "n", "f"} {
		if _, err := r.Invoke(t.Context(), "redis.set_key", []any{k, "x"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// testdata/runs.json has the results of Salt 3006.18 with a Redis whose port stands as brine_. Each state
// then runs again, in test mode too.
func TestRuns(t *testing.T) {
	port := daemon.Redis(t)
	fill(t, port)
	shelf(t).Settle(t, "testdata/runs.json", port, runs.Equal)
}

// Test mode writes nothing, and each run begins the time of expire anew.
func TestString(t *testing.T) {
	port := daemon.Redis(t)
	r := fill(t, port)
	s := shelf(t)
	ask := func(fun string, args ...any) any {
		v, err := r.Invoke(t.Context(), "redis."+fun, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	kwargs := data.NewMap("value", int64(5), "port", port)
	for i, want := range []string{"Key would be updated to new value", "Key updated to new value",
		"Key already set to defined value"} {
		got := s.Run(t, i == 0, "redis.string", "a", kwargs)
		if got.Text("comment") != want || data.Truth(got.Value("changes")) != (i < 2) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
		if v := ask("get_key", "a"); (v == "5") != (i > 0) {
			t.Errorf("run %d: the key has %v", i, v)
		}
	}
	kwargs.Set("expire", int64(1000))
	if got := s.Run(t, true, "redis.string", "a",
		kwargs); got.Text("comment") != "Key would get a time of expiry" {
		t.Error(data.Repr(got))
	}
	if ask("ttl", "a") != int64(-1) {
		t.Error("test mode sets a time of expiry")
	}
	s.Run(t, false, "redis.string", "a", kwargs)
	ask("expire", "a", int64(500))
	for _, test := range []bool{true, false} {
		if got := s.Run(t, test, "redis.string", "a", kwargs); data.Truth(got.Value("changes")) {
			t.Error(data.Repr(got))
		}
		if ttl := ask("ttl", "a").(int64); (ttl > 500) == test {
			t.Errorf("test mode %v: the key has %d seconds", test, ttl)
		}
	}
	if got := s.Run(t, true, "redis.absent", "a", data.NewMap("port", port)); got.Value("result") != nil ||
		got.Text("comment") != "Key would be deleted" || ask("exists", "a") != int64(1) {
		t.Error(data.Repr(got))
	}
}

func TestSlaveof(t *testing.T) {
	master, replica, port := daemon.Redis(t), daemon.Redis(t), daemon.Port(t)
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "port " + port + "\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 " + master +
		" 1\nsentinel monitor own 192.0.2.2 6379 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.Start(t, "tcp", net.JoinHostPort("127.0.0.1", port), "redis-server", file, "--sentinel")
	s := shelf(t)
	kwargs := data.NewMap("sentinel_host", "127.0.0.1", "sentinel_port", port, "host", "127.0.0.1", "port",
		replica)
	for i, want := range []string{"Minion will be made a slave of m: 127.0.0.1",
		"Minion successfully connected to master: m", "Minion already slave of master: m",
		"Minion already slave of master: m"} {
		got := s.Run(t, i == 0 || i == 3, "redis.slaveof", "m", kwargs)
		if got.Text("comment") != want || data.Truth(got.Value("changes")) != (i == 1) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
	}
	if got := s.Run(t, false, "redis.slaveof", "own",
		kwargs); got.Text("comment") != "Minion is the master: own" {
		t.Error(data.Repr(got))
	}
}

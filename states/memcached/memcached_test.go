package memcached_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/memcached"
	state "github.com/brineproject/brine/states/memcached"
)

// testdata/runs.json has the results of Salt 3006.18 with a memcached whose port stands as brine_. Each
// state then runs again.
func TestRuns(t *testing.T) {
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")}, []loader.Plugin{module.Plugin()},
		state.Plugin())
	states.Settle(t, "testdata/runs.json", daemon.Memcached(t), runs.Equal)
}

// A value that memcached refuses fails the state.
func TestRefused(t *testing.T) {
	port := daemon.Memcached(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")}, []loader.Plugin{module.Plugin()},
		state.Plugin())
	for value, want := range map[any]string{string(make([]byte, 2<<20)): "Failed to set key 'k'",
		1.5: "only texts and integers can be stored, not a value of type float"} {
		got := states.Run(t, false, "memcached.managed", "k", data.NewMap("value", value, "port", port))
		if got.Value("result") != false || got.Text("comment") != want {
			t.Errorf("%.60s", data.Repr(got))
		}
	}
}

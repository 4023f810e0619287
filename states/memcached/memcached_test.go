package memcached_test

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/memcached"
	state "github.com/brineproject/brine/states/memcached"
)

// start starts a memcached and returns its port.
func start(t *testing.T) string {
	t.Helper()
	need.Program(t, "memcached")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	c := exec.CommandContext(t.Context(), "memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-U", "0")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return port
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("memcached ended: %v", err)
		case <-tick.C:
		}
	}
}

// testdata/runs.json has the results of Salt 3006.18 with a memcached whose port stands as brine_. Each state then
// runs again.
func TestRuns(t *testing.T) {
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")}, []loader.Plugin{module.Plugin()}, state.Plugin())
	states.Settle(t, "testdata/runs.json", start(t), runs.Equal)
}

// A value that memcached refuses fails the state.
func TestRefused(t *testing.T) {
	port := start(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")}, []loader.Plugin{module.Plugin()}, state.Plugin())
	for value, want := range map[any]string{string(make([]byte, 2<<20)): "Failed to set key 'k'",
		1.5: "only texts and integers can be stored, not a value of type float"} {
		got := states.Run(t, false, "memcached.managed", "k", data.NewMap("value", value, "port", port))
		if got.Value("result") != false || got.Text("comment") != want {
			t.Errorf("%.60s", data.Repr(got))
		}
	}
}

package augeas_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/augeas"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/augeas"
)

// TestRuns replays results of Salt 3006.18 with the library Augeas 1.14: test mode, real runs, and
// test mode again.
func TestRuns(t *testing.T) {
	need.Program(t, "augtool")
	root := t.TempDir()
	hosts := filepath.Join(root, "etc/hosts")
	if err := os.Mkdir(filepath.Dir(hosts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n192.168.1.1 test t\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1")}
	runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin()).
		Replay(t, "testdata/runs.json", "", runs.Equal)
	if text, err := os.ReadFile(hosts); err != nil || string(text) != "127.0.0.1 we\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

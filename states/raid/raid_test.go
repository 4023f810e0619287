package raid_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/file"
	module "github.com/brineproject/brine/modules/raid"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/raid"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	root := t.TempDir()
	for _, name := range []string{"brine-a", "brine-b", "brine-c", "brine-d", "brine-e", "brine-bad", "md0"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Other") }}
	runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), file.Plugin(render.Brought{}),
		module.Plugin()},
		state.Plugin()).Replay(t, "testdata/runs.json", root+"/", runs.Equal)
}

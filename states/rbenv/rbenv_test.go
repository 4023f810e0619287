package rbenv_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/rbenv"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/rbenv"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again. Then it makes a version the default.
func TestRuns(t *testing.T) {
	root := filepath.Join(runs.Programs(t), "rbenv")
	env := &loader.Env{Opts: data.NewMap("id", "web1", "rbenv.root", root)}
	states := runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(),
		module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	changes := data.NewMap("default", data.NewMap("old", "system", "new", "2.7.0"))
	for i, want := range []*data.Map{changes, {}, {}} {
		got := states.Run(t, i == 2, "rbenv.installed", "2.7.0", data.NewMap("default", true))
		if got.Value("result") != true || !data.Equal(got.Value("changes"), want) {
			t.Errorf("run %d with another default: %s", i, data.Repr(got))
		}
	}
	broken := &loader.Env{Opts: data.NewMap("id", "web1", "rbenv.root", root+"-broken")}
	got := runs.New(t, broken, []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(),
		module.Plugin()}, state.Plugin()).
		Run(t, false, "rbenv.installed", "2.7.0", &data.Map{})
	if got.Value("result") != false || got.Text("comment") != "Rbenv failed to install" {
		t.Errorf("without rbenv: %s", data.Repr(got))
	}
}

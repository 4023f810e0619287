package pyenv_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/pyenv"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/pyenv"
)

func shelf(t *testing.T, root string) *runs.Shelf {
	env := &loader.Env{Opts: data.NewMap("id", "web1", "pyenv.root", root)}
	return runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(),
		module.Plugin()}, state.Plugin())
}

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode and real
// runs. Test mode says the truth of what is there already. Then it makes a version the default.
func TestRuns(t *testing.T) {
	root := filepath.Join(runs.Programs(t), "pyenv")
	states := shelf(t, root)
	for _, test := range []bool{true, false} {
		got := states.Run(t, test, "pyenv.absent", "3.12.4", nil)
		if got.Value("result") != true || got.Text("comment") != "pyenv not installed, 3.12.4 not either" {
			t.Errorf("without pyenv: %s", data.Repr(got))
		}
	}
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	for fun, name := range map[string]string{"installed": "3.12.4", "absent": "3.13.0", "install_pyenv": "x"} {
		if got := states.Run(t, true, "pyenv."+fun, name, nil); got.Value("result") != true ||
			data.Truth(got.Value("changes")) {
			t.Errorf("test mode of %s: %s", fun, data.Repr(got))
		}
	}
	changes := data.NewMap("default", data.NewMap("old", "system", "new", "3.12.4"))
	for i, want := range []*data.Map{{}, changes, {}, {}} {
		got := states.Run(t, i == 0 || i == 3, "pyenv.installed", "3.12.4", data.NewMap("default", true))
		if (got.Value("result") == nil) != (i == 0) || !data.Equal(got.Value("changes"), want) {
			t.Errorf("run %d with another default: %s", i, data.Repr(got))
		}
	}
}

// TestInstallPyenv installs pyenv once; a clone that fails says so.
func TestInstallPyenv(t *testing.T) {
	root := filepath.Join(runs.Programs(t), "pyenv")
	changes := data.NewMap("pyenv", "Installed")
	for i, want := range []string{"pyenv is set to be installed", "pyenv installed",
		"pyenv is already installed", "pyenv is already installed"} {
		got := shelf(t, root).Run(t, i == 0 || i == 3, "pyenv.install_pyenv", "pyenv", nil)
		if got.Text("comment") != want || data.Equal(got.Value("changes"), changes) != (i == 1) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
	}
	got := shelf(t, root+"-broken").Run(t, false, "pyenv.installed", "3.12.4", nil)
	if got.Value("result") != false || got.Text("comment") != "pyenv failed to install" {
		t.Errorf("without pyenv: %s", data.Repr(got))
	}
}

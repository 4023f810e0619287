package apache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/apache"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/apache"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, two real
// runs, and test mode again.
func TestRuns(t *testing.T) {
	root := runs.Programs(t)
	for _, name := range []string{"mods-available/cgi.load", "mods-available/sticky.load",
		"sites-available/example.com.conf", "sites-available/000-default.conf", "conf-available/security.conf",
		"mods-enabled/x", "sites-enabled/x", "conf-enabled/x"} {
		path := filepath.Join(root, "etc/apache2", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"mods-enabled/sticky.load": "../mods-available/sticky.load",
		"sites-enabled/000-default.conf": "../sites-available/000-default.conf"} {
		if err := os.Symlink(to, filepath.Join(root, "etc/apache2", from)); err != nil {
			t.Fatal(err)
		}
	}
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Root: root,
		Grains: func() *data.Map { return data.NewMap("os_family", "Debian") }}
	states := runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin(),
		state.Conf(), state.Module(), state.Site())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	got := states.Run(t, true, "apache_module.enabled", "cgi", nil)
	if got.Value("result") != nil {
		t.Errorf("cgi was disabled: %s", data.Repr(got))
	}
	if err := os.MkdirAll(filepath.Join(root, "etc/apache2/dir.conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	conf := data.NewMap("config", []any{data.NewMap("Listen", "80")})
	if got := states.Run(t, true, "apache.configfile", "/etc/apache2/dir.conf", conf); got.Value("result") != false {
		t.Errorf("a directory in place of the file: %s", data.Repr(got))
	}
}

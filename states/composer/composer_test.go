package composer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/composer"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/composer"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, real runs,
// and test mode again. Then it runs composer where there is nothing to do.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	dir := t.TempDir()
	for _, name := range []string{"one", "two", "broken", "three"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", dir+"/", runs.Equal)
	three := filepath.Join(dir, "three")
	for i, comment := range []string{`The state of "` + three + `" will be changed.`,
		"Composer update completed successfully", "Composer update completed successfully"} {
		got := states.Run(t, i == 0, "composer.update", three, &data.Map{})
		if got.Text("comment") != comment || (got.Value("changes").(*data.Map).Len() > 0) != (i < 2) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
	}
}

// TestChanges checks which outputs of Composer 1 and 2 are changes, in a directory where it ran already and
// in one where it did not.
func TestChanges(t *testing.T) {
	runs.Programs(t)
	const two = "Loading composer repositories with package information\nUpdating dependencies\n"
	for _, tt := range []struct {
		name, output string
		want         bool
	}{
		{"nothing", two + "Nothing to modify in lock file\n" +
			"Installing dependencies from lock file (including require-dev)\n" +
			"Nothing to install, update or remove\nGenerating autoload files\n", false},
		{"nothing in Composer 1", two + "Nothing to install or update\nGenerating autoload files\n", false},
		{"packages of an unchanged lock file", two + "Nothing to modify in lock file\n" +
			"Installing dependencies from lock file (including require-dev)\n" +
			"Package operations: 2 installs, 0 updates, 0 removals\n  - Installing a/b (1.0): Extracting archive\n" +
			"Generating autoload files\n", true},
		{"a lock file", two + "Lock file operations: 0 installs, 1 update, 0 removals\n" +
			"  - Upgrading a/b (1.0 => 1.1)\nWriting lock file\nInstalling dependencies from lock file\nNothing to install, update or remove\n", true},
		{"a script that talks", "  - Upgrading a/b (1.0 => 1.1)\n" +
			"> echo Nothing to install, update or remove today\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("SAYS", tt.output)
			states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
				[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
			for _, fun := range []string{"composer.installed", "composer.update"} {
				t.Setenv("VENDOR", "vendor")
				dir := t.TempDir()
				first := states.Run(t, false, fun, dir, &data.Map{})
				second := states.Run(t, false, fun, dir, &data.Map{})
				if first.Value("changes").(*data.Map).Len() == 0 {
					t.Errorf("the first run of %s: %s", fun, data.Repr(first))
				}
				t.Setenv("VENDOR", "lib") // as vendor-dir of composer.json
				elsewhere := states.Run(t, false, fun, t.TempDir(), &data.Map{})
				if (elsewhere.Value("changes").(*data.Map).Len() > 0) != tt.want {
					t.Errorf("a run of %s with another directory: %s", fun, data.Repr(elsewhere))
				}
				if (second.Value("changes").(*data.Map).Len() > 0) != tt.want {
					t.Errorf("the second run of %s: %s", fun, data.Repr(second))
				}
			}
		})
	}
}

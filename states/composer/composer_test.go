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

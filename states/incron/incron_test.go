package incron_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/incron"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/incron"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	need.Root(t, "to write the table of root")
	fake := runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	const want = "/srv IN_ACCESS,IN_MODIFY echo $$ $@\n"
	if text, err := os.ReadFile(filepath.Join(fake, "tab")); err != nil || string(text) != want {
		t.Errorf("the table is %q, %v", text, err)
	}
}

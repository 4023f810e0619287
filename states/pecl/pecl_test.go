package pecl_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/pecl"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/pecl"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, two real runs,
// and test mode again. Then an installation fails.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	for range 2 {
		want := data.NewMap("name", "bad", "changes", &data.Map{}, "result", false,
			"comment", "Could not install pecl extension bad.")
		if got := states.Run(t, false, "pecl.installed", "bad", nil); !data.Equal(got, want) {
			t.Errorf("got %s", data.Repr(got))
		}
	}
}

package keyboard_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/keyboard"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/keyboard"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin()).
		Replay(t, "testdata/runs.json", "", runs.Equal)
}

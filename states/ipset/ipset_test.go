package ipset_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/ipset"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/ipset"
)

// TestRuns replays results of Salt 3006.18 with real sets in a network of its own: test mode, real
// runs, and test mode again. own.json has what differs from Salt: comments and empty sets.
// One result of runs.json does, too: a test of absent is None as soon as one entry would be removed, and in Salt
// the last entry decides.
func TestRuns(t *testing.T) {
	if !need.Network(t, "ipset list") {
		return
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	states.Replay(t, "testdata/own.json", "", runs.Equal)
}

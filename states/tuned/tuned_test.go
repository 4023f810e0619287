package tuned_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/tuned"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/tuned"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, real runs,
// and test mode again. Then it has what differs: a second off, a part of a name, and a failure.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	const same, done = "System already in the correct state", "The state of \"balanced\" was changed!"
	for i, step := range []struct {
		fun, name, comment string
		result             any
	}{
		{"off", "off", same, true}, {"profile", "balanced-battery",
			"The state of \"balanced-battery\" was changed!", true},
		{"profile", "balanced", done, true}, {"profile", "balanced", same, true},
		{"profile", "broken", "Profile broken could not be activated", false},
	} {
		got := states.Run(t, false, "tuned."+step.fun, step.name, &data.Map{})
		if got.Text("comment") != step.comment || got.Value("result") != step.result {
			t.Errorf("step %d: %s", i, data.Repr(got))
		}
	}
}

package quota_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/quota"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/quota"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	for _, test := range []bool{true, false} {
		got := states.Run(t, test, "quota.mode", "/none", data.NewMap("mode", true, "quotatype", "user"))
		if got.Value("result") != false || !strings.Contains(got.Text("comment"), "/none has no user quota") {
			t.Errorf("a file system without quotas: %s", data.Repr(got))
		}
	}
}

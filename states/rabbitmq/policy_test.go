package rabbitmq_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/rabbitmq"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/rabbitmq"
)

// pkg is a module pkg that knows the version of RabbitMQ.
func pkg() loader.Plugin {
	type args struct{ Name string }
	return loader.Plugin{Name: "pkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("version",
			func(context.Context, args) (any, error) {
				return "3.10.8-1", nil
			})}}, nil
	}}
}

// TestPolicies replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real
// runs, and test mode again. Then it keeps what a policy is for and a priority of None, which Salt sets in
// each run.
func TestPolicies(t *testing.T) {
	runs.Programs(t)
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), pkg(), module.Plugin()}, state.Policy())
	states.Replay(t, "testdata/policies.json", "", runs.Equal)
	kwargs := data.NewMap("pattern", "^a", "definition", data.NewMap("ha-mode", "all"), "apply_to", "queues",
		"priority", nil)
	for i, want := range []string{"Policy / Q is set to be created", "Setting policy \"Q\" ...",
		"Policy / Q is already present", "Policy / Q is already present"} {
		got := states.Run(t, i == 0 || i == 3, "rabbitmq_policy.present", "Q", kwargs)
		if got.Text("comment") != want || (got.Value("changes").(*data.Map).Len() > 0) != (i < 2) {
			t.Errorf("run %d: %s, want %s", i, data.Repr(got), want)
		}
	}
}

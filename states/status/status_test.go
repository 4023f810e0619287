package status_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	state "github.com/brineproject/brine/states/status"
)

// module is status with the numbers of the recorded runs.
func module() loader.Plugin {
	type none struct{}
	type sig struct{ Sig string }
	return loader.Plugin{Name: "status", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("loadavg", func(context.Context, none) (any, error) {
				return data.NewMap("1-min", 0.5, "5-min", 1.25, "15-min", 10.0), nil
			}),
			loader.F("pid", func(_ context.Context, a sig) (any, error) {
				if a.Sig == "sshd" {
					return "411\n412", nil
				}
				return "", nil
			}),
		}}, nil
	}}
}

// TestRuns replays results of Salt 3006.18 for the same numbers, with and without test mode.
func TestRuns(t *testing.T) {
	states := runs.New(t, &loader.Env{}, []loader.Plugin{module()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	got := states.Run(t, false, "status.loadavg", "5-min", data.NewMap("minimum", "9", "maximum", "10"))
	if got.Text("comment") != "Load avg is below minimum of 9 at 1.25" {
		t.Errorf("limits of different lengths: %s", data.Repr(got))
	}
}

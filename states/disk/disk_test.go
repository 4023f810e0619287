package disk_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	state "github.com/brineproject/brine/states/disk"
)

// modules returns disk and status with the numbers of the recorded runs.
func modules() []loader.Plugin {
	type none struct{}
	type path struct{ Path string }
	usage := func(context.Context, none) (any, error) {
		return data.NewMap("/var", data.NewMap("filesystem", "/dev/sda1", "1K-blocks", "1000", "used", "620",
			"available", "380", "capacity", "62%")), nil
	}
	diskusage := func(_ context.Context, a path) (any, error) {
		return data.NewMap(a.Path, data.NewMap("total", int64(3000), "available", int64(1000))), nil
	}
	plugin := func(name string, fun loader.Func) loader.Plugin {
		return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{fun}}, nil
		}}
	}
	return []loader.Plugin{plugin("disk", loader.F("usage", usage)),
		plugin("status", loader.F("diskusage", diskusage))}
}

// TestRuns replays results of Salt 3006.18 for the same numbers, with and without test mode.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	runs.New(t, &loader.Env{}, modules(), state.Plugin()).Replay(t, "testdata/runs.json", dir, runs.Equal)
}

package glusterfs_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/glusterfs"
	"github.com/brineproject/brine/modules/network"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/glusterfs"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode and real runs.
// A started volume is under changes. Test mode says the truth of what is there already, and adds no
// bricks.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	env := &loader.Env{Opts: data.NewMap("id", "web1")}
	states := runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), network.Plugin(), module.Plugin()},
		state.Plugin())
	states.Replay(t, "testdata/runs.json", "", func(got, want *data.Map) bool {
		if changes, ok := want.Get("change"); ok {
			want.Delete("change")
			want.Set("changes", changes)
		}
		return data.Equal(got, want)
	})
	for _, kwargs := range []*data.Map{data.NewMap("bricks", []any{"host1:/b1"}),
		data.NewMap("bricks", []any{"host1:/b1"}, "start", true)} {
		got := states.Run(t, true, "glusterfs.volume_present", "vol1", kwargs)
		if got.Value("result") != true || data.Truth(got.Value("changes")) {
			t.Errorf("test mode: %s", data.Repr(got))
		}
	}
	more := data.NewMap("bricks", []any{"host1:/b1", "host2:/b1"})
	changes := change([]any{"host1:/b1"}, []any{"host1:/b1", "host2:/b1"})
	for i, want := range []*data.Map{
		data.NewMap("result", nil, "changes", changes, "comment", "Bricks will be added to volume vol1"),
		data.NewMap("result", true, "changes", changes, "comment", "Bricks successfully added to volume vol1"),
		data.NewMap("result", true, "changes", &data.Map{}, "comment", "Bricks already added in volume vol1"),
		data.NewMap("result", true, "changes", &data.Map{}, "comment", "Bricks already added in volume vol1"),
	} {
		want.Set("name", "vol1")
		if got := states.Run(t, i == 0 || i == 3, "glusterfs.add_volume_bricks", "vol1", more); !data.Equal(got, want) {
			t.Errorf("bricks, run %d: %s", i, data.Repr(got))
		}
	}
	got := states.Run(t, false, "glusterfs.volume_present", "stuck",
		data.NewMap("bricks", []any{"host1:/b1"}, "start", true))
	if got.Value("result") != false ||
		got.Text("comment") != "Volume stuck is created but failed to start. Check logs for further information" {
		t.Errorf("a volume that does not start: %s", data.Repr(got))
	}
}

func change(before, after any) *data.Map { return data.NewMap("old", before, "new", after) }

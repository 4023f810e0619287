package acl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/acl"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/acl"
)

// shelf returns the states, and a directory with the files of the recorded runs.
func shelf(t *testing.T) (states *runs.Shelf, prefix string) {
	t.Helper()
	need.Program(t, "getfacl", "setfacl")
	need.Root(t, "for the owner in the results")
	dir := t.TempDir()
	for _, name := range []string{"dir", "dir/sub"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "dir/a", "dir/sub/b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin()), dir + "/"
}

// TestRuns replays results of Salt 3006.18 on files with real lists: test mode, real runs, and test
// mode again.
func TestRuns(t *testing.T) {
	states, prefix := shelf(t)
	states.Replay(t, "testdata/runs.json", prefix, runs.Equal)
}

// TestDeviations has the cases in which the results differ from Salt's.
func TestDeviations(t *testing.T) {
	states, prefix := shelf(t)
	states.Replay(t, "testdata/own.json", prefix, runs.Equal)
}

package nfsexport_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/nfs3"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/nfsexport"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again; then a run in which exportfs fails.
func TestRuns(t *testing.T) {
	fake := runs.Programs(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "exports")
	if err := os.WriteFile(file, []byte("# mine\n/srv/old *(ro)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), nfs3.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", dir+"/", runs.Equal)
	kwargs := data.NewMap("hosts", "h", "exports", file)
	for i, want := range []string{"", "Export /srv/bare already configured"} {
		if got := states.Run(t, false, "nfs_export.present", "/srv/bare",
			kwargs); got.Text("comment") != want ||
			got.Value("result") != true {
			t.Errorf("run %d without options: %s", i, data.Repr(got))
		}
	}
	if text, err := os.ReadFile(file); err != nil ||
		string(text) != "# mine\n/srv/old *(ro)\n/srv/bare h()\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(fake, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	states.Replay(t, "testdata/broken.json", dir+"/", runs.Equal)
}

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

// Clients that cannot be written fail the state in test mode, too, and leave the file as it is. An entry
// of several lines is one, and options may be a text.
func TestKept(t *testing.T) {
	runs.Programs(t)
	file := filepath.Join(t.TempDir(), "exports")
	text := "/srv/a h(rw) \\\n\tg(ro,sync)\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), nfs3.Plugin()}, state.Plugin())
	run := func(test bool, kwargs *data.Map, want any, changes int) {
		t.Helper()
		kwargs.Set("exports", file)
		got := states.Run(t, test, "nfs_export.present", "/srv/a", kwargs)
		if got.Value("result") != want || got.Value("changes").(*data.Map).Len() != changes {
			t.Errorf("%s gives %s", data.Repr(kwargs), data.Repr(got))
		}
	}
	for _, bad := range []*data.Map{
		data.NewMap("hosts", "a b"), data.NewMap("hosts", []any{"a"}), data.NewMap("hosts", "-rw"),
		data.NewMap("clients", []any{data.NewMap("hosts", "h"), data.NewMap("options", []any{"rw"})}),
		data.NewMap("clients", []any{"h"}),
		data.NewMap("clients", []any{data.NewMap("hosts", "h", "options", []any{"rw)\n/etc *(rw"})}),
	} {
		for _, test := range []bool{true, false} {
			run(test, bad, false, 0)
			if now, err := os.ReadFile(file); err != nil || string(now) != text {
				t.Fatalf("%s leaves %q, %v", data.Repr(bad), now, err)
			}
		}
	}
	same := data.NewMap("clients", []any{data.NewMap("hosts", "h", "options", "rw"),
		data.NewMap("hosts", "g", "options", []any{"ro,sync"})})
	run(true, same, true, 0)
	run(false, same, true, 0)
	run(false, data.NewMap("hosts", "h", "options", "rw,sync"), true, 2)
	run(false, data.NewMap("hosts", "h", "options", "rw,sync"), true, 0)
	if now, err := os.ReadFile(file); err != nil || string(now) != "/srv/a h(rw,sync)\n" {
		t.Errorf("the file is %q, %v", now, err)
	}
}

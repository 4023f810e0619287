package raid_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/file"
	module "github.com/brineproject/brine/modules/raid"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/raid"
)

// TestRuns replays results of Salt 3006.18 with the program of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	runs.Programs(t)
	root := t.TempDir()
	for _, name := range []string{"brine-a", "brine-b", "brine-c", "brine-d", "brine-e", "brine-bad", "md0"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Other") }}
	runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), file.Plugin(render.Brought{}),
		module.Plugin()},
		state.Plugin()).Replay(t, "testdata/runs.json", root+"/", runs.Equal)
}

// TestFailures has an mdadm that fails: no disk counts as blank, and no array as absent or destroyed.
func TestFailures(t *testing.T) {
	fake, root := runs.Programs(t), t.TempDir()
	disk, md := filepath.Join(root, "brine-a"), filepath.Join(root, "md0")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(disk, "")
	write(md, "")
	arrays := filepath.Join(fake, "arrays")
	list := "ARRAY " + md + " metadata=1.2 UUID=u:1\n"
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Other") }}
	states := runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), file.Plugin(render.Brought{}),
		module.Plugin()}, state.Plugin())
	for _, tt := range []struct {
		fun, fails, arrays, left string
		kwargs                   *data.Map
	}{
		{"present", "-Y", list, list, data.NewMap("level", 1, "devices", []any{disk})},
		{"present", "-Y", "", "", data.NewMap("level", 1, "devices", []any{disk})},
		{"absent", "--detail", list, list, &data.Map{}},
		{"absent", "--detail-" + filepath.Base(md), list, list, &data.Map{}},
		{"absent", "--zero-superblock", list, "", &data.Map{}},
	} {
		write(arrays, tt.arrays)
		write(filepath.Join(fake, "super-sdb"), "u:1\n")
		write(filepath.Join(fake, "fails"+tt.fails), "")
		got := states.Run(t, false, "raid."+tt.fun, md, tt.kwargs)
		if got.Value("result") != false || !strings.Contains(got.Text("comment"), "resource busy") {
			t.Errorf("%s with a failing %s: %s", tt.fun, tt.fails, data.Repr(got))
		}
		if text, err := os.ReadFile(arrays); err != nil || string(text) != tt.left {
			t.Errorf("%s with a failing %s leaves %q, %v", tt.fun, tt.fails, text, err)
		}
		if _, err := os.Stat(filepath.Join(fake, "super-brine-a")); err == nil {
			t.Errorf("%s with a failing %s wrote to the disk", tt.fun, tt.fails)
		}
		if err := os.Remove(filepath.Join(fake, "fails"+tt.fails)); err != nil {
			t.Fatal(err)
		}
	}
}

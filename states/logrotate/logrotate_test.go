package logrotate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/logrotate"
	state "github.com/brineproject/brine/states/logrotate"
)

// TestRuns replays results of Salt 3006.18: test mode, real runs, and test mode again.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"conf":   "# see man logrotate\nweekly\nrotate 4\ninclude " + dir + "/d\n",
		"d/wtmp": "/var/log/wtmp {\n    monthly\n    rotate 1\n}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs.New(t, &loader.Env{}, []loader.Plugin{module.Plugin()}, state.Plugin()).
		Replay(t, "testdata/runs.json", dir+"/", runs.Equal)
	const want = "/var/log/wtmp {\n    monthly\n    rotate 2\n    compress\n}\n"
	if text, err := os.ReadFile(filepath.Join(dir, "d/wtmp")); err != nil || string(text) != want {
		t.Errorf("the block is %q, %v", text, err)
	}
}

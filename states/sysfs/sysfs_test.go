package sysfs_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules/sysfs"
	state "github.com/brineproject/brine/states/sysfs"
)

// TestRuns replays results of Salt 3006.18: test mode, real runs, and test mode again.
func TestRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the module is for Linux")
	}
	root := t.TempDir()
	for _, dir := range []string{"sys/kernel/mm", "sys/dir"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"enabled": "always [madvise] never\n", "pages": "100\n"} {
		if err := os.WriteFile(filepath.Join(root, "sys/kernel/mm", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs.New(t, &loader.Env{Root: root}, []loader.Plugin{module.Plugin()}, state.Plugin()).
		Replay(t, "testdata/runs.json", "", runs.Equal)
}

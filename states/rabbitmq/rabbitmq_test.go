package rabbitmq_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin: test mode, real runs,
// and test mode again.
func TestRuns(t *testing.T) {
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	teststate.NewShelf(t, data.NewMap("id", "web1")).Replay(t, "testdata/runs.json", "brine_", teststate.Equal)
	if text, err := os.ReadFile(filepath.Join(dir, "vhosts")); err != nil || string(text) != "v1\n" {
		t.Errorf("the virtual hosts are %q, %v", text, err)
	}
}

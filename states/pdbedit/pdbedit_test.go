package pdbedit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// TestRuns replays results of Salt 3006.18 with the programs of testdata/bin. Those of test mode,
// the hashes of passwords and the comments of failures are ours, see the package.
func TestRuns(t *testing.T) {
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	teststate.NewShelf(t, data.NewMap("id", "web1")).Replay(t, "testdata/runs.json", "brine_", teststate.Equal)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "kaylee" {
		t.Errorf("the accounts are %v, %v", left, err)
	}
}

package gem_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// newShelf returns the states of a minion with the program of testdata/bin.
func newShelf(t *testing.T) (*teststate.Shelf, string) {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return teststate.NewShelf(t, data.NewMap("id", "web1")), dir
}

// TestRuns replays results of Salt 3006.18 with the same program: test mode, two real runs, and
// test mode again.
func TestRuns(t *testing.T) {
	shelf, dir := newShelf(t)
	shelf.Replay(t, "testdata/runs.json", "brine_", teststate.Equal)
	text, err := os.ReadFile(filepath.Join(dir, "gems"))
	if want := "thor (3.0, 2.0, 1.2.0)\n"; err != nil || string(text) != want {
		t.Errorf("the gems are %q, %v, want %q", text, err, want)
	}
}

// TestOlderVersions checks that an older version that fits, and one that came with Ruby, count.
func TestOlderVersions(t *testing.T) {
	shelf, dir := newShelf(t)
	if err := os.WriteFile(filepath.Join(dir, "gems"), []byte("bundler (2.3.15, default: 2.3.7)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, comment string }{
		{"< 2.3.10", "Installed Gem meets version requirements."},
		{"2.3.7", "Gem is already installed."},
		{"<= 2.3.7", "Installed Gem meets version requirements."},
	} {
		for range 2 {
			got := shelf.Run(t, false, "gem.installed", "bundler", data.NewMap("version", c.version))
			want := data.NewMap("name", "bundler", "changes", data.NewMap(), "result", true, "comment", c.comment)
			if !data.Equal(got, want) {
				t.Errorf("%s: %s", c.version, data.Repr(got))
			}
		}
	}
}

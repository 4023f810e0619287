package alias_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// newShelf returns the states of a minion and its file of aliases. The program newaliases is not
// available.
func newShelf(t *testing.T) (*teststate.Shelf, string) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	file := filepath.Join(t.TempDir(), "aliases")
	if err := os.WriteFile(file, []byte("# mail\nroot: admin # boss\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return teststate.NewShelf(t, data.NewMap("aliases.file", file)), file
}

// TestRuns replays results of Salt 3006.18: test mode, two real runs, and test mode again.
func TestRuns(t *testing.T) {
	shelf, file := newShelf(t)
	shelf.Replay(t, "testdata/runs.json", "brine_", teststate.Equal)
	text, err := os.ReadFile(file)
	if want := "# mail\nteam: a@example.com, b@example.com\n"; err != nil || string(text) != want {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
}

// TestTestModeWritesNothing checks that test mode does not write the file.
func TestTestModeWritesNothing(t *testing.T) {
	shelf, file := newShelf(t)
	shelf.Run(t, true, "alias.present", "web", data.NewMap("target", "a@example.com"))
	shelf.Run(t, true, "alias.absent", "root", data.NewMap())
	text, err := os.ReadFile(file)
	if want := "# mail\nroot: admin # boss\n"; err != nil || string(text) != want {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
}

// TestInvalidTargets checks that an invalid target is never written to the file.
func TestInvalidTargets(t *testing.T) {
	shelf, file := newShelf(t)
	for _, target := range []any{nil, []any{}, data.NewMap("a", "b")} {
		ret := shelf.Run(t, false, "alias.present", "web", data.NewMap("target", target))
		if ret.Value("result") != false ||
			ret.Text("comment") != "The target must be an address or a list of addresses" {
			t.Errorf("%s: got %s", data.Repr(target), data.Repr(ret))
		}
	}
	text, err := os.ReadFile(file)
	if want := "# mail\nroot: admin # boss\n"; err != nil || string(text) != want {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
}

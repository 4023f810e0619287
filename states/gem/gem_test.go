package gem_test

import (
	"os"
	"path/filepath"
	"strings"
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

// TestRequirements replays results of Salt 3006.18 for requirements and a native gem. Salt installs
// most of them again in each run; here the second run finds nothing to do.
func TestRequirements(t *testing.T) {
	shelf, _ := newShelf(t)
	shelf.Replay(t, "testdata/requirements.json", "brine_", teststate.Equal)
	for name, version := range map[string]string{"a": "~> 1.2", "b": "~> 1.2.3", "c": "= 1.2",
		"d": ">= 1.2, < 2", "e": "!= 2.0", "native": "1.15.4"} {
		for _, test := range []bool{false, true} {
			got := shelf.Run(t, test, "gem.installed", name, data.NewMap("version", version))
			if got.Value("result") != true || data.Truth(got.Value("changes")) {
				t.Errorf("%s %s again: %s", name, version, data.Repr(got))
			}
		}
	}
	// gem alone knows what this means: it is asked each time, and changes nothing.
	got := shelf.Run(t, false, "gem.installed", "odd", data.NewMap("version", "newest"))
	if got.Value("result") != true || data.Truth(got.Value("changes")) {
		t.Errorf("a version that only gem knows: %s", data.Repr(got))
	}
}

// TestPassword checks that the password in the URL of a source is in no text and no change.
func TestPassword(t *testing.T) {
	shelf, dir := newShelf(t)
	const url = "https://u:secret@gems.example/"
	for _, fun := range []string{"gem.sources_add", "gem.sources_remove"} {
		for _, test := range []bool{true, false, false, true} {
			got := shelf.Run(t, test, fun, url, data.NewMap())
			if text := data.Repr(got.Value("changes")) + got.Text("comment"); strings.Contains(text, "secret") {
				t.Errorf("%s, test %v: %s", fun, test, text)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "sources"))
		if has := strings.Contains(string(text), url); err != nil || has != (fun == "gem.sources_add") {
			t.Errorf("%s left %q, %v", fun, text, err)
		}
	}
}

package npm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// newShelf returns the states of a minion with the program of testdata/bin, and its directory.
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

// partly is equal to Salt's results, except that test mode with anything to install returns None.
func partly(got, want *data.Map) bool {
	want = want.Clone()
	if strings.Contains(want.Text("comment"), "are set to be installed. ") {
		want.Set("result", nil)
	}
	return data.Equal(got, want)
}

// TestRuns replays results of Salt 3006.18 with the same program: test mode, two real runs, and
// test mode again. The last two break it.
func TestRuns(t *testing.T) {
	shelf, dir := newShelf(t)
	if err := os.Mkdir(filepath.Join(dir, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cache"), []byte("x\ny\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shelf.Replay(t, "testdata/runs.json", dir+"/", partly)
	if _, err := os.Stat(filepath.Join(dir, "app/node_modules")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	shelf.Replay(t, "testdata/broken.json", "brine_", teststate.Equal)
}

// TestAgain checks second runs of states that in Salt fail or change something again.
func TestAgain(t *testing.T) {
	shelf, dir := newShelf(t)
	cache := filepath.Join(dir, "cache")
	if err := os.WriteFile(cache, []byte("/root/.npm\n/root/.npm/foo/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fun  string
		name any
		same string
	}{
		{"npm.installed", "git://example.com/tool.git", "Package(s) 'git://example.com/tool.git' satisfied by from-git@0.1.0"},
		{"npm.cache_cleaned", "foo", "Package foo is not in the cache"},
		{"npm.cache_cleaned", nil, "The cache is empty"},
	} {
		for i := range 2 {
			got := shelf.Run(t, false, c.fun, c.name, data.NewMap())
			if changed := data.Truth(got.Value("changes")); got.Value("result") != true || changed && i == 1 ||
				i == 1 && got.Text("comment") != c.same {
				t.Errorf("%s %v, run %d: %s", c.fun, c.name, i, data.Repr(got))
			}
		}
	}
	if got := shelf.Run(t, true, "npm.installed", "@", data.NewMap()); got.Value("result") != false {
		t.Errorf("a name that is none: %s", data.Repr(got))
	}
}

// TestSpecs replays results of Salt 3006.18 for ranges, tags, repositories and files. Salt fails or
// installs most of them again in each run; here the second run changes nothing.
func TestSpecs(t *testing.T) {
	shelf, _ := newShelf(t)
	shelf.Replay(t, "testdata/specs.json", "brine_", teststate.Equal)
	for _, name := range []string{"a@^1.2", "b@latest", "@s/c@~1.2.0", "d@>=1.0", "someone/tool", "/srv/x.tgz",
		"git://example.com/tool.git"} {
		for range 2 {
			got := shelf.Run(t, false, "npm.installed", name, data.NewMap())
			if got.Value("result") != true || data.Truth(got.Value("changes")) {
				t.Errorf("%s again: %s", name, data.Repr(got))
			}
		}
		got := shelf.Run(t, true, "npm.installed", name, data.NewMap())
		if unclear := strings.HasSuffix(name, "latest"); unclear != (got.Value("result") == nil) {
			t.Errorf("%s in test mode: %s", name, data.Repr(got))
		}
	}
	got := shelf.Run(t, false, "npm.installed", "a@^2", data.NewMap())
	if got.Value("result") != false || data.Truth(got.Value("changes")) {
		t.Errorf("a version that npm did not install: %s", data.Repr(got))
	}
}

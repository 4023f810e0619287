package paths_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/internal/paths"
)

// TestPaths asks of a file, a directory, links to them and to nothing, and of nothing, what
// Python's os.path answers.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"to-file": "file", "to-dir": "dir", "to-nothing": "nothing"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	type answers struct{ file, dir, link, exists, linkExists bool }
	for name, want := range map[string]answers{
		"file":       {file: true, exists: true, linkExists: true},
		"dir":        {dir: true, exists: true, linkExists: true},
		"to-file":    {file: true, link: true, exists: true, linkExists: true},
		"to-dir":     {dir: true, link: true, exists: true, linkExists: true},
		"to-nothing": {link: true, linkExists: true},
		"nothing":    {},
		"file/below": {},
	} {
		path := at(name)
		got := answers{paths.IsFile(path), paths.IsDir(path), paths.IsLink(path),
			paths.Exists(path), paths.LinkExists(path)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

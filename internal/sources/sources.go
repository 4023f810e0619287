// Package sources tells go test that the result of a test depends on all sources of the tree, as that of one does which builds programs
// or lists packages: go test remembers what a test opens, but not what programs open that the test runs.
package sources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Root returns the directory of the tree, whose directories it has opened; the test ends where there is none above the working directory.
func Root(t testing.TB) string {
	t.Helper()
	dir := module(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // what tests make beside us may go
		t.Fatal(err)
	}
	return dir
}

// module returns the nearest directory that has a go.mod.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("there is no go.mod above the working directory")
		}
		dir = up
	}
}

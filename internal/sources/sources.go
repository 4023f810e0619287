// Package sources makes go test's cache depend on all sources of the tree, for tests that build
// programs or list packages: go test records the files that a test opens, but not those that
// programs it runs open.
package sources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Root returns the directory of the tree, after opening all its directories; the test ends if there
// is no tree above the working directory.
func Root(t testing.TB) string {
	t.Helper()
	dir := module(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		return err
	})
	// files that other tests create may disappear
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
			t.Fatal("no go.mod in or above the working directory")
		}
		dir = up
	}
}

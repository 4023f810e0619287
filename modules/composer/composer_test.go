package composer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/composer"
)

// site puts a program composer into the search path, which is never run, and a project below root.
func site(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "project/vendor"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"composer", "composer.phar"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", root+":"+os.Getenv("PATH"))
	return root
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	root := site(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root,
		Plugins: []loader.Plugin{composer.Plugin()}})
}

// A path reaches no program as an option or as several lines.
func TestOperands(t *testing.T) {
	site(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), composer.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"--dry-run", "a\nb"} {
		for _, kwargs := range []*data.Map{data.NewMap("directory", bad),
			data.NewMap("directory", "/srv", "php", bad)} {
			if got, err := r.Invoke(t.Context(), "composer.install", nil, kwargs); err == nil {
				t.Errorf("%s gives %s", data.Repr(kwargs), data.Repr(got))
			}
		}
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

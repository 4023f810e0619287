package kmod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// testdata/calls.json has the commands and results of Salt 3006.0. The tests of the state cover the
// configuration.
func TestCalls(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lsmod", "modprobe", "rmmod"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

func TestConfiguration(t *testing.T) {
	for _, c := range []struct{ text, with, commented, without string }{
		{"", "dummy\n", "", ""},
		{"a\ndummy\nb", "a\ndummy\nb\ndummy\n", "a\n#dummy\nb", "a\nb"},
		{"#  dummy \nx\n", "dummy \nx\n", "#  dummy \nx\n", "#  dummy \nx\n"},
		{"# dummy is for tests\ndummy2\n", "# dummy is for tests\ndummy2\ndummy\n",
			"# dummy is for tests\ndummy2\n", "# dummy is for tests\ndummy2\n"},
		{"  dummy numdummies=2\n", "  dummy numdummies=2\ndummy\n", "#  dummy numdummies=2\n", ""},
	} {
		got := [3]string{with(c.text, "dummy"), without(c.text, "dummy", true),
			without(c.text, "dummy", false)}
		if want := [3]string{c.with, c.commented, c.without}; got != want {
			t.Errorf("%q returned %q, want %q", c.text, got, want)
		}
	}
}

func FuzzLsmod(f *testing.F) {
	f.Add("Module                  Size  Used by\nbridge                327680  1 br_netfilter\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, mod := range parseLsmod(text) {
			if mod.name == "" || !strings.Contains(text, mod.name) {
				t.Errorf("%q has a module %q", text, mod.name)
			}
		}
	})
}

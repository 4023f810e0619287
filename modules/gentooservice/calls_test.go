package gentooservice

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// statusPlugin is a module status that knows the processes of cron.
func statusPlugin() loader.Plugin {
	type args struct{ Sig string }
	return loader.Plugin{Name: "status", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("pid", func(_ context.Context, a args) (any, error) {
			if a.Sig == "cron" {
				return "411\n412", nil
			}
			return "", nil
		})}}, nil
	}}
}

// programs puts programs in front of the search path, so that they are found; none of them is run.
func programs(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has what Salt 3006.0 runs and returns on the system below testdata/root.
func TestCalls(t *testing.T) {
	programs(t, "runlevel", "insserv")
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin(), statusPlugin()}})
}

func FuzzShow(f *testing.F) {
	f.Add("       acpid | default\n  crond |\n")
	f.Fuzz(func(t *testing.T, text string) {
		enabled, disabled := parseShow(text)
		if n := strings.Count(text, "\n") + 1; enabled.Len()+len(disabled) > n {
			t.Errorf("%d lines give %d services", n, enabled.Len()+len(disabled))
		}
	})
}

package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/loader"
)

// Service replays the calls of a service module from file, which records what Salt runs and returns
// on the system below testdata/root. The programs runlevel and insserv are found but never run;
// the only running processes are those of cron.
func Service(
	t *testing.T, file string, plugin loader.Plugin, skip func(line []string) bool,
) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"runlevel", "insserv"} {
		program := filepath.Join(dir, name)
		if err := os.WriteFile(program, []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	plugins := []loader.Plugin{plugin, statusPlugin()}
	Check(t, file, Options{Root: root, Plugins: plugins, Skip: skip})
}

// statusPlugin is a module status that knows the processes of cron.
func statusPlugin() loader.Plugin {
	type args struct{ Sig string }
	pid := func(_ context.Context, a args) (any, error) {
		if a.Sig == "cron" {
			return "411\n412", nil
		}
		return "", nil
	}
	return loader.Plugin{Name: "status", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("pid", pid)}}, nil
	}}
}

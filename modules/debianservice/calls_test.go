package debianservice

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
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

// A container often has neither runlevel nor insserv; its PATH leads nowhere here, and what is usually there cannot be hidden.
func TestContainer(t *testing.T) {
	for _, program := range []string{"runlevel", "insserv"} {
		if process.Find(program) != "" {
			t.Skipf("the host has %s", program)
		}
	}
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/container.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()}})
}

func TestRefuses(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		os     string
		booted bool
		works  bool
	}{{"Debian", false, true}, {"Devuan", false, true}, {"Ubuntu", false, false}, {"Debian", true, false}} {
		if c.booted {
			if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		_, err := newModule(&loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("os", c.os) }})
		if (err == nil) != c.works {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

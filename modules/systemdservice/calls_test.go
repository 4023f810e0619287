package systemdservice

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/replay"
	"github.com/brineproject/brine/loader"
)

// configPlugin is a module config without options.
func configPlugin() loader.Plugin {
	type args struct{ Key, Default any }
	return loader.Plugin{Name: "config", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("get", "", func(_ context.Context, a args) (any, error) { return a.Default, nil })}}, nil
	}}
}

// programs puts fake programs in front of the search path, systemctl among them, which says of which version it is.
func programs(t *testing.T, version string, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(names, "systemctl", "systemd-run", "systemd-firstboot") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho systemd "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// booted returns the root of a system that runs under systemd.
func booted(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// isStatus is what Salt asks as often as it likes, and this module once.
func isStatus(line []string) bool { return line[0] == "systemctl" && line[1] == "status" }

// testdata/calls.json has what Salt 3006.0 runs and returns under systemd 252, testdata/old.json under 204.
func TestCalls(t *testing.T) {
	for file, version := range map[string]string{"calls": "252", "old": "204"} {
		t.Run(file, func(t *testing.T) {
			programs(t, version)
			replay.Check(t, "testdata/"+file+".json", replay.Options{Root: booted(t), Plugins: []loader.Plugin{Plugin(), configPlugin()}, Skip: isStatus})
		})
	}
}

func FuzzShow(f *testing.F) {
	f.Add("Id=cron.service\nExecStart={ path=/bin/x ; argv[]=/bin/x -f ; ignore_errors=no }\nAfter=a b\n")
	f.Add("ExecStart={\n=\n{")
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range parseShow(text).All() {
			switch v.(type) {
			case string, []any, *data.Map:
			default:
				t.Errorf("%T in %q", v, text)
			}
		}
	})
}

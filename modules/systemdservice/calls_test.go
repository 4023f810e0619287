package systemdservice

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// configPlugin returns a module config without options.
func configPlugin() loader.Plugin {
	type args struct{ Key, Default any }
	return loader.Plugin{Name: "config", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("get",
			func(_ context.Context, a args) (any, error) { return a.Default, nil })}}, nil
	}}
}

// programs puts fake programs at the front of the search path, including systemctl, which prints
// the given version.
func programs(t *testing.T, version string, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(names, "systemctl", "systemd-run", "systemd-firstboot") {
		if err := os.WriteFile(filepath.Join(dir, name),
			[]byte("#!/bin/sh\necho systemd "+version+"\n"), 0o755); err != nil {
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

// isStatus accepts the command that Salt runs any number of times and this module once.
func isStatus(line []string) bool { return line[0] == "systemctl" && line[1] == "status" }

// testdata/calls.json holds the commands and results of Salt 3006.0 under systemd 252,
// testdata/old.json those under 204.
func TestCalls(t *testing.T) {
	for file, version := range map[string]string{"calls": "252", "old": "204"} {
		t.Run(file, func(t *testing.T) {
			programs(t, version)
			replay.Check(t, "testdata/"+file+
				".json", replay.Options{Root: booted(t),
				Plugins: []loader.Plugin{Plugin(), configPlugin()}, Skip: isStatus})
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

// TestRefresh checks that systemd is reloaded for a new unit and for one whose file changes later.
// No other command runs twice.
func TestRefresh(t *testing.T) {
	programs(t, "252")
	root := booted(t)
	unit := filepath.Join(root, "etc/systemd/system/new.service")
	if err := os.MkdirAll(filepath.Dir(unit), 0o755); err != nil {
		t.Fatal(err)
	}
	seen, unitStatus, reloads := "", 0, 0
	systemctl := func(_ context.Context, _ string, args []any, _ *data.Map) (any, error) {
		line, code, out := args[0].([]any), int64(0), ""
		switch now, err := os.ReadFile(unit); {
		case line[1] == "--system":
			reloads++
			seen = string(now)
		case seen == "":
			unitStatus++
			code, out = 4, "Unit new.service could not be found."
		default:
			unitStatus++
			if err == nil && string(now) != seen {
				out = "Warning: The unit file changed on disk. Run 'systemctl daemon-reload' to reload units."
			}
		}
		return data.NewMap("retcode", code, "stdout", out, "stderr", ""), nil
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root, Call: systemctl,
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := loader.WithContext(t.Context(), &loader.Context{})
	for _, step := range []struct {
		text                string // contents of the file; "" for no file
		there               bool
		unitStatus, reloads int
	}{{"", false, 1, 0}, {"", false, 1, 0}, {"[Service]\n", true, 3, 1},
		{"[Service]\n", true, 3, 1}, {"[Service]\nType=simple\n", true, 5, 2}} {
		if step.text != "" && step.text != seen {
			if err := os.WriteFile(unit, []byte(step.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Invoke(ctx, "service.available", []any{"new"}, nil)
		if err != nil || got != step.there || unitStatus != step.unitStatus || reloads != step.reloads {
			t.Errorf("%+v: available is %v, %v; asked %d times, %d reloads", step, got, err,
				unitStatus, reloads)
		}
	}
}

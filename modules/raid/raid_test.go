package raid

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/file"
	"github.com/brineproject/brine/render"
)

// program puts a program mdadm into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mdadm"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18. /dev/null stands for an array,
// because detail looks for the device.
func TestCalls(t *testing.T) {
	program(t)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/mdadm"), 0o755); err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: root, Plugins: []loader.Plugin{Plugin(), file.Plugin(render.Brought{})}})
}

const (
	scan = "ARRAY /dev/md0 metadata=1.2 name=h:0 UUID=a:b\nARRAY /dev/null metadata=1.2 UUID=c:d"
	head = "MAILADDR root\n"
)

// TestConfiguration checks what is written to mdadm's configuration.
func TestConfiguration(t *testing.T) {
	program(t)
	root := t.TempDir()
	conf := filepath.Join(root, "etc/mdadm.conf")
	if err := os.Mkdir(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	ran := func(text string) *data.Map {
		return data.NewMap("retcode", int64(0), "stdout", text, "stderr",
			"")
	}
	shell := &replay.Shell{Answers: data.NewMap("mdadm --detail --scan", ran(scan),
		"mdadm --detail /dev/null", ran(""), "mdadm --stop /dev/null", ran(""))}
	env := &loader.Env{Root: root, Opts: data.NewMap("cachedir", root),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Ubuntu") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), file.Plugin(render.Brought{}),
		Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, args ...any) any {
		got, err := r.Invoke(t.Context(), "raid."+fun, args, nil)
		if err != nil {
			t.Fatalf("%s: %v", fun, err)
		}
		return got
	}
	check := func(when, want string) {
		if text, err := os.ReadFile(conf); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", when, text, err, want)
		}
	}
	const both = "ARRAY /dev/md0 UUID=a:b\nARRAY /dev/null UUID=c:d\n"
	call("save_config")
	check("without a file", both)
	if err := os.WriteFile(conf, []byte(head+"ARRAY /dev/md0 UUID=old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		call("save_config")
		check("with an old line", head+both)
	}
	if call("destroy", "/dev/null") != false { // the list still has it
		t.Error("the array is gone")
	}
	check("after destroy", head+"ARRAY /dev/md0 UUID=a:b\n\n")
}

// No argument reaches mdadm as an option or as several lines.
func TestOperands(t *testing.T) {
	program(t)
	shell := &replay.Shell{}
	env := &loader.Env{Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"--force", "a\nb"} {
		for fun, args := range map[string][]any{
			"detail": {bad}, "create": {bad, 1, []any{"/dev/a"}}, "assemble": {"/dev/md0", []any{bad}},
			"examine": {bad}, "add": {"/dev/md0", bad},
		} {
			if got, err := r.Invoke(t.Context(), "raid."+fun, args, nil); err == nil {
				t.Errorf("%s %s returns %s", fun, data.Repr(args), data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "raid.destroy", []any{"--scan"}, nil); got != false || err != nil {
		t.Errorf("destroy gives %v, %v", got, err)
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

func FuzzScanned(f *testing.F) {
	f.Add(scan)
	f.Add("ARRAY /dev/md0 spares")
	f.Fuzz(func(t *testing.T, text string) {
		for device, v := range scanned(text).All() {
			if v.(*data.Map).Value("device") != device && !strings.Contains(strings.ToLower(text),
				"device=") {
				t.Errorf("%q: %s has %s", text, data.Repr(device), data.Repr(v))
			}
		}
		detailed(text, "/dev/md0")
		configLines(text, true)
	})
}

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

// testdata/calls.json has the commands and results of Salt 3006.18 for texts in the form of mdadm 4.2.
// /dev/null stands for an array, because detail looks for the device.
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
	// the members of an array that was not started have no numbers
	inactive = "/dev/null:\n             State : inactive\n\n    Number   Major   Minor   RaidDevice\n\n" +
		"       -       8       17        -        /dev/sdb1\n       -       8       33        -        /dev/sdc1\n"
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
		"mdadm --detail /dev/null", ran(inactive), "mdadm --stop /dev/null", ran(""),
		"mdadm --zero-superblock /dev/sdb1 /dev/sdc1", ran(""))}
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

// An array that mdadm cannot read, or that does not stop, is left alone with its line.
func TestLeftAlone(t *testing.T) {
	program(t)
	root := t.TempDir()
	conf := filepath.Join(root, "etc/mdadm.conf")
	if err := os.Mkdir(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	ran := func(code int64, text string) *data.Map {
		return data.NewMap("retcode", code, "stdout", text, "stderr", "mdadm: told")
	}
	shell := &replay.Shell{}
	env := &loader.Env{Root: root, Opts: data.NewMap("cachedir", root),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Other") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), file.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	const line = "ARRAY /dev/null UUID=c:d\n"
	if err := os.WriteFile(conf, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		detail, stop *data.Map
		fails        bool
		ran          string
	}{
		{ran(1, ""), ran(0, ""), true, "[['mdadm', '--detail', '/dev/null']]"},
		{ran(0, "/dev/null:\n"), ran(0, ""), true, "[['mdadm', '--detail', '/dev/null']]"},
		{ran(0, inactive), ran(1, ""), false, "[['mdadm', '--detail', '/dev/null'], " +
			"['mdadm', '--stop', '/dev/null'], ['mdadm', '--detail', '--scan']]"},
	} {
		shell.Ran = []any{}
		shell.Answers = data.NewMap("mdadm --detail /dev/null", tt.detail, "mdadm --stop /dev/null", tt.stop,
			"mdadm --detail --scan", ran(0, scan))
		got, err := r.Invoke(t.Context(), "raid.destroy", []any{"/dev/null"}, nil)
		if (err != nil) != tt.fails || err == nil && got != false || data.Repr(shell.Ran) != tt.ran {
			t.Errorf("%d: destroy gives %v, %v and runs %s", i, got, err, data.Repr(shell.Ran))
		}
		if text, err := os.ReadFile(conf); err != nil || string(text) != line {
			t.Errorf("%d: the configuration is %q, %v", i, text, err)
		}
	}
	if got, err := r.Invoke(t.Context(), "raid.detail", []any{"/dev/null"}, nil); err != nil {
		t.Errorf("detail gives %v, %v", got, err)
	}
	shell.Answers = data.NewMap("mdadm --detail /dev/null", ran(1, ""))
	if got, err := r.Invoke(t.Context(), "raid.detail", []any{"/dev/null"}, nil); err == nil {
		t.Errorf("a failing mdadm gives %v", got)
	}
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
	if got, err := r.Invoke(t.Context(), "raid.destroy", []any{"--scan"}, nil); err == nil {
		t.Errorf("destroy gives %v", got)
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

package lvm

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// program puts a program lvm into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lvm"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output in the form of LVM
// 2.03. /dev/null, /dev/zero and /dev/full stand for disks, because pvcreate looks for its devices.
func TestCalls(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the devices are those of Linux")
	}
	program(t)
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

// Operands that a program would read as options, and line ends, reach no program.
func TestRefused(t *testing.T) {
	program(t)
	shell := &replay.Shell{Answers: data.NewMap()}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"-f", "a\nb"} {
		for fun, args := range map[string][]any{
			"pvdisplay": {bad}, "vgdisplay": {bad}, "lvdisplay": {bad}, "pvremove": {bad},
			"pvresize": {[]any{bad}}, "vgcreate": {bad, "/dev/null"}, "vgextend": {"vg", []any{bad}},
			"vgremove": {bad}, "lvremove": {"lv", bad}, "lvcreate": {bad, "vg", "1G"},
			"lvresize": {"1G", bad}, "lvextend": {"1G", bad},
		} {
			for range 2 {
				v, err := r.Invoke(t.Context(), "lvm."+fun, args, nil)
				if err == nil || !strings.Contains(err.Error(), "dash") &&
					!strings.Contains(err.Error(), "more than one line") {
					t.Errorf("%s %q gives %s, %v", fun, args, data.Repr(v), err)
				}
			}
		}
	}
	for fun, kwargs := range map[string]*data.Map{
		"vgcreate": data.NewMap("vgname", "vg", "devices", "/dev/null", "addtag", "a\nb"),
		"lvcreate": data.NewMap("lvname", "lv", "vgname", "vg", "size", "1G\n"),
		"lvresize": data.NewMap("lvpath", "/dev/vg/lv", "size", "1G\n"),
	} {
		if v, err := r.Invoke(t.Context(), "lvm."+fun, nil, kwargs); err == nil {
			t.Errorf("%s %s gives %s", fun, data.Repr(kwargs), data.Repr(v))
		}
	}
	if data.Truth(shell.Ran) {
		t.Errorf("programs ran: %s", data.Repr(shell.Ran))
	}
}

// Without the program the module tells so.
func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if m, err := newModule(&loader.Env{}); err == nil {
		t.Errorf("there is a module: %v", m)
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("  /dev/vg1/root:vg1:3:1:-1:1:2097152:256:-1:0:-1:253:0\n")
	f.Add("  \"/dev/zero\" is a new physical volume of \"10.00 GiB\"\n\n:")
	f.Fuzz(func(t *testing.T, text string) {
		for key, v := range table(columns(text), "a", "b").All() {
			if got := v.(*data.Map).Value("a"); got != key {
				t.Errorf("%q: %s has %s", text, data.Repr(key), data.Repr(got))
			}
		}
	})
}

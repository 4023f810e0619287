package lvm_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states/lvm"
)

// host returns the states of a host with the programs in dir/bin.
func host(t *testing.T, dir string) *loader.Registry {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the programs are shell scripts with paths of Linux")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	env := &loader.Env{Opts: data.NewMap()}
	functions, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(functions.Env(), []loader.Plugin{lvm.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// testdata/steps.json has the results of Salt 3006.18, and the commands that changed something, with
// a fake of LVM that keeps volumes in files.
func TestSteps(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/steps.json")
}

// testdata/own.json has the cases in which the results differ from Salt's: sizes that are rounded,
// test mode for a group that gets a device, a group without devices.
func TestDeviations(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/own.json")
}

// A size that is none raises Salt's exception and changes nothing.
func TestInvalidSize(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "lvm"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	states := host(t, dir)
	for size, want := range map[string]string{"G": "Size G is invalid.", "10x": "Unit x is invalid.",
		"1.5G": "invalid literal for int() with base 10: '1.5'"} {
		for range 2 {
			v, err := states.Invoke(t.Context(), "lvm.lv_present", nil,
				data.NewMap("name", "lv", "vgname", "vg", "size", size))
			if err == nil || err.Error() != want {
				t.Errorf("%s gives %s, %v, want %s", size, data.Repr(v), err, want)
			}
		}
	}
}

// A volume that cannot be looked up fails the state, and is not taken for an absent one.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lvm", "pvdisplay", "vgdisplay", "lvdisplay"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name),
			[]byte("#!/bin/sh\necho '  Giving up waiting for lock.' >&2; exit 5\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := host(t, dir)
	for fun, kwargs := range map[string]*data.Map{
		"pv_absent": data.NewMap(), "pv_present": data.NewMap(), "vg_absent": data.NewMap(),
		"vg_present": data.NewMap("devices", "/dev/null"), "lv_absent": data.NewMap("vgname", "vg"),
		"lv_present": data.NewMap("vgname", "vg", "size", "1G"),
	} {
		for range 2 {
			all := kwargs.Clone()
			all.Set("name", "x")
			v, err := states.Invoke(t.Context(), "lvm."+fun, nil, all)
			ret, _ := v.(*data.Map)
			if err != nil || ret.Value("result") != false || data.Truth(ret.Value("changes")) ||
				!strings.HasSuffix(ret.Text("comment"), "Giving up waiting for lock.") {
				t.Errorf("%s gives %s, %v", fun, data.Repr(v), err)
			}
		}
	}
}

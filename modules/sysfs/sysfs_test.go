package sysfs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// site makes the attributes of testdata/calls.json below root.
func site(t *testing.T, root string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the module is for Linux")
	}
	for name, text := range map[string]string{
		"sys/block/sda/size": "2048\n", "sys/block/sda/load": "1.50\n", "sys/block/sda/queue/scheduler": "[none] bfq\n",
		"sys/block/sda/queue/empty": "\n", "sys/kernel/mm/enabled": "always [madvise] never\n", "sys/block/sda/stop": "", "etc/secret": "x\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"size": 0o444, "stop": 0o200, "load": 0o444} {
		if err := os.Chmod(filepath.Join(root, "sys/block/sda", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/class"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := os.Symlink("../block/sda", filepath.Join(root, "sys/class/disk"))
	if err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
}

// testdata/calls.json has the results of Salt 3006.18 for the attributes of site; its lists are in order.
func TestCalls(t *testing.T) {
	root := t.TempDir()
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()},
		Before: func(t *testing.T, _ int) {
			if err := os.RemoveAll(filepath.Join(root, "sys")); err != nil {
				t.Fatal(err)
			}
			site(t, root)
		}})
}

// What write writes is there, and nothing outside of /sys is read or written.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	site(t, root)
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "sysfs.write", []any{"kernel/mm/enabled", "never"},
		nil); got != true || err != nil {
		t.Errorf("write gives %v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "sys/kernel/mm/enabled")); string(text) != "never\n" {
		t.Errorf("the attribute has %q, %v", text, err)
	}
	if err := os.Symlink("../../etc/secret", filepath.Join(root, "sys/kernel/link")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../etc/secret", "/sys/../etc/secret", "kernel/link", "/sysx/a"} {
		for fun, args := range map[string][]any{"read": {key}, "write": {key, "y"}, "attr": {key},
			"target": {key}} {
			if got, err := r.Invoke(t.Context(), "sysfs."+fun, args, nil); got != false || err != nil {
				t.Errorf("%s %s gives %s, %v", fun, key, data.Repr(got), err)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/secret")); string(text) != "x\n" {
		t.Errorf("the other file has %q, %v", text, err)
	}
}

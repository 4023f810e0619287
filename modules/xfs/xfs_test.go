package xfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// site puts a program xfsdump into the search path, which is never run, and a mounted file system into
// the kernel's list below root.
func site(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{"bin/xfsdump": "#!/bin/false\n",
		"proc/mounts": "/dev/sda1 /srv xfs rw,noatime 0 0\n/dev/sda2 / ext4 rw 0 0\n"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	return root
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output of xfsprogs 6.1 and in the
// form of xfsdump 3.1.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json", replay.Options{Root: site(t), Plugins: []loader.Plugin{Plugin()}})
}

// No argument reaches a program as an option or as several lines.
func TestOperands(t *testing.T) {
	root := site(t)
	shell := &replay.Shell{}
	env := &loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"-f", "a\nb"} {
		for fun, args := range map[string][]any{"info": {bad}, "dump": {bad, "/x"}, "prune_dump": {bad},
			"estimate": {bad},
			"mkfs":     {bad}, "modify": {bad, "label"}, "defragment": {bad}} {
			if got, err := r.Invoke(t.Context(), "xfs."+fun, args, nil); err == nil {
				t.Errorf("%s %s gives %s", fun, data.Repr(args), data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "xfs.mkfs", []any{"/dev/x", "a\nb"}, nil); err == nil {
		t.Errorf("a label with two lines gives %s", data.Repr(got))
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

// A program that fails without a word fails. blkid has a code of its own for nothing.
func TestFailures(t *testing.T) {
	root := site(t)
	shell := &replay.Shell{}
	env := &loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for code, none := range map[int64]bool{1: false, 2: true} {
		silent := data.NewMap("retcode", code, "stdout", "", "stderr", "")
		shell.Answers = data.NewMap("xfs_info /dev/x", silent, "mkfs.xfs -f /dev/x", silent,
			"xfsrestore -I", silent, "blkid -o export", silent)
		for fun, args := range map[string][]any{"info": {"/dev/x"}, "mkfs": {"/dev/x"}, "inventory": nil,
			"devices": nil} {
			got, err := r.Invoke(t.Context(), "xfs."+fun, args, nil)
			if (err == nil) != (none && fun == "devices") {
				t.Errorf("%s with code %d gives %s, %v", fun, code, data.Repr(got), err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("meta-data=/dev/x isize=512 agcount=4\n  = sectsz=512 attr=2, projid32bit=1\n" +
		"log =internal log bsize=4096\n")
	f.Add("file system 0:\n\tfs id:\t\tx\n\tsession 0:\n\t\ttime:\tnow\nstatus")
	f.Fuzz(func(t *testing.T, text string) {
		for name, v := range geometry(text).All() {
			if !v.(*data.Map).Has("section") {
				t.Errorf("%q: %s has no name", text, data.Repr(name))
			}
		}
		inventoried(text)
		dumped(text)
		pruned(text)
		blocks(text)
		estimated(text)
	})
}

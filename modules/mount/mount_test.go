//go:build unix

package mount

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// accounts returns modules user and group that know ann and staff.
func accounts() []loader.Plugin {
	info := func(module string, known *data.Map) loader.Plugin {
		return loader.Plugin{Name: module, New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("info",
				func(_ context.Context, a nameArgs) (any, error) {
					if v, ok := known.Get(a.Name); ok {
						return v, nil
					}
					return data.NewMap(), nil
				})}}, nil
		}}
	}
	return []loader.Plugin{info("user",
		data.NewMap("ann", data.NewMap("uid", int64(1000), "gid", int64(1001)))),
		info("group", data.NewMap("staff", data.NewMap("gid", int64(1002))))}
}

// programs adds programs at the front of the search path so that they are found; none of them is
// run.
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

// testdata/calls.json has the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) {
	programs(t, "blkid")
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: append(accounts(), Plugin())})
}

// host returns the functions of a host with an fstab of these lines, and the path of the fstab.
func host(t *testing.T, lines string) (*loader.Registry, string) {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(root, "etc/fstab")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(lines), 0o640); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root, Opts: data.NewMap("cachedir", root)},
		[]loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, file
}

const lines = "# a comment with more words\n/dev/sda1 / ext4 defaults 0 1\n/dev/sdc1\t/data\txfs\tro,noatime 0 2\n/dev/sr0 /media/cd\\040rom udf user,noauto"

// Setting a line leaves the others as they are; setting it again changes nothing.
func TestSetFstab(t *testing.T) {
	for _, c := range []struct {
		args []any
		did  string
		want string
	}{
		{[]any{"/data", "/dev/sdc1", "xfs", "noatime,ro", int64(0), int64(2)}, "present", lines},
		{[]any{"/data", "/dev/sdc1", "xfs", []any{"rw"}},
			"change", strings.Replace(lines, "/dev/sdc1\t/data\txfs\tro,noatime 0 2\n",
				"/dev/sdc1\t\t/data\txfs\trw\t0 0\n", 1)},
		{[]any{"/new", "/dev/sdx", "ext4"}, "new", lines + "\n/dev/sdx\t\t/new\text4\tdefaults\t0 0\n"},
		{[]any{"/my dir", "//nas/my\\ share", "cifs", "credentials=/etc/a b"}, "new", lines +
			"\n//nas/my\\040share\t\t/my\\040dir\tcifs\tcredentials=/etc/a\\040b\t0 0\n"},
		{[]any{"/media/cd rom", "/dev/sr0", "udf", "user,noauto"}, "present", lines},
	} {
		r, file := host(t, lines)
		for i, want := range []string{c.did, "present"} {
			if got, err := r.Invoke(t.Context(), "mount.set_fstab", c.args,
				data.NewMap("test", true)); err != nil || got != want {
				t.Errorf("%v in test mode: %v, %v, want %s", c.args, got, err, want)
			}
			if src, _ := os.ReadFile(file); i == 0 && string(src) != lines {
				t.Errorf("%v: test mode wrote %q", c.args, src)
			}
			if got, err := r.Invoke(t.Context(), "mount.set_fstab", c.args, nil); err != nil || got != want {
				t.Errorf("%v: %v, %v, want %s", c.args, got, err, want)
			}
			src, err := os.ReadFile(file)
			if info, _ := os.Stat(file); err != nil || string(src) != c.want || info.Mode() != 0o640 {
				t.Errorf("%v: the file of mode %v has %q, %v, want %q", c.args, info.Mode(), src, err, c.want)
			}
		}
	}
}

func TestRmFstab(t *testing.T) {
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"/data", "/dev/sdc1"}, strings.Replace(lines,
			"/dev/sdc1\t/data\txfs\tro,noatime 0 2\n", "", 1)},
		{[]any{"/data", nil}, strings.Replace(lines, "/dev/sdc1\t/data\txfs\tro,noatime 0 2\n", "", 1)},
		{[]any{"/data", "/dev/sdd1"}, lines},
		{[]any{"/media/cd rom", "/dev/sr0"}, lines[:strings.Index(lines, "/dev/sr0")]},
	} {
		r, file := host(t, lines)
		for range 2 {
			got, err := r.Invoke(t.Context(), "mount.rm_fstab", c.args, nil)
			if src, _ := os.ReadFile(file); err != nil || got != true || string(src) != c.want {
				t.Errorf("%v: %v, %v, the file has %q", c.args, got, err, src)
			}
		}
	}
}

func TestOtherTables(t *testing.T) {
	r, file := host(t, "/devices - /devices devfs - no -\n")
	for _, want := range []string{"new", "present"} {
		if got, err := r.Invoke(t.Context(),
			"mount.set_vfstab", []any{"/mnt/foo", "/device/c0t0d0p0", "ufs"}, data.NewMap("config",
				"/etc/fstab")); err != nil || got != want {
			t.Errorf("set_vfstab: %v, %v, want %s", got, err, want)
		}
	}
	want := "/devices - /devices devfs - no -\n/device/c0t0d0p0 -   /mnt/foo            ufs      -   yes    -\n"
	if src, _ := os.ReadFile(file); string(src) != want {
		t.Errorf("it has %q", src)
	}
	r, file = host(t, "# map\n")
	for i, did := range []string{"new", "present", "change"} {
		args := []any{"/mnt/foo", "nas:/x", "nfs", []string{"ro", "ro", "rw"}[i], "/etc/fstab"}
		if got, err := r.Invoke(t.Context(), "mount.set_automaster", args, nil); err != nil || got != did {
			t.Errorf("set_automaster: %v, %v, want %s", got, err, did)
		}
	}
	if src, _ := os.ReadFile(file); string(src) != "# map\n/../mnt/foo\t-fstype=nfs,rw\tnfs:nas:/x\n" {
		t.Errorf("it has %q", src)
	}
}

func TestCache(t *testing.T) {
	r, _ := host(t, "")
	call := func(fun string, args ...any) any {
		v, err := r.Invoke(t.Context(), "mount."+fun, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := data.NewMap("device", "/dev/sda1", "fstype", "ext4", "mkmnt", false, "opts", []any{"ro"})
	for range 2 {
		call("write_mount_cache", "/mnt", "/dev/sda1", false, "ext4", []any{"ro"})
		if got := call("read_mount_cache", "/mnt"); !data.Equal(got, want) {
			t.Errorf("it reads %s", data.Repr(got))
		}
	}
	for range 2 {
		call("delete_mount_cache", "/mnt")
		if got := call("read_mount_cache", "/mnt"); !data.Equal(got, data.NewMap()) {
			t.Errorf("it reads %s", data.Repr(got))
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add(lines, "22 27 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n")
	f.Add("Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n", "DEVNAME=/dev/sda\nUUID=1\n\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		parseFstab(a)
		parseSwaps(a)
		parseMounts(a, parseList(b))
		parseMountinfo(b, parseList(a), parseBlkid(b))
		entry := map[string]string{"name": "/x", "device": "/dev/x", "fstype": "ext4", "opts": "ro",
			"dump": "0", "pass_num": "0"}
		once, did := fstabFormat().edited(a, entry, map[string]string{"device": "/dev/x"}, false)
		if twice, again := fstabFormat().edited(once, entry, map[string]string{"device": "/dev/x"},
			false); again != "present" || twice != once {
			t.Errorf("%q: %s returned %q, then %s %q", a, did, once, again, twice)
		}
	})
}

//go:build linux

package mount_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	modules "github.com/brineproject/brine/modules/mount"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/mount"
)

// A host mounts in its own mount namespace with an empty /mnt.
type host struct {
	t      *testing.T
	root   string
	pid    int
	states *loader.Registry
}

func newHost(t *testing.T) *host {
	t.Helper()
	if os.Getuid() != 0 || process.Find("unshare") == "" || process.Find("nsenter") == "" {
		need.Missing(t, "it needs root, unshare and nsenter")
	}
	h := &host{t: t, root: t.TempDir()}
	h.namespace()
	h.write("etc/fstab", "# of the host\n/dev/sda1 / ext4 defaults 0 1\n")
	h.write("proc/swaps", "Filename Type Size Used Priority\n")
	h.write("mnt/there/x", "")
	h.inside("mkdir", "/mnt/there", "/mnt/source")
	if err := os.Symlink(fmt.Sprintf("/proc/%d", h.pid), filepath.Join(h.root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	h.programs()
	env := &loader.Env{Root: h.root, Opts: data.NewMap("id", "web1", "cachedir", h.root),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os", "Debian") }}
	funcs, err := loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), modules.Plugin(), h.files()})
	if err != nil {
		t.Fatal(err)
	}
	if h.states, err = loader.NewRegistry(funcs.Env(), []loader.Plugin{mount.Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
}

// namespace starts a program in a new namespace.
func (h *host) namespace() {
	h.t.Helper()
	c := exec.Command("unshare", "-m", "sh", "-c",
		"mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && echo ok; read x")
	in, err := c.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { in.Close(); _ = c.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ok\n" {
		need.Missing(h.t, "nothing can be mounted in a namespace")
	}
	h.pid = c.Process.Pid
}

// inside runs a program in the namespace.
func (h *host) inside(words ...string) {
	h.t.Helper()
	if out, err := exec.Command("nsenter", append([]string{"-t", fmt.Sprint(h.pid), "-m"},
		words...)...).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %v %s", words, err, out)
	}
}

// programs makes mount and umount run in the namespace, and represents swap by a line in a file.
func (h *host) programs() {
	h.t.Helper()
	dir := h.t.TempDir()
	enter := fmt.Sprintf("exec nsenter -t %d -m ", h.pid)
	for name, body := range map[string]string{
		"mount": `[ "$1" = -l ] && ` + enter + process.Find("mount") + " -l\n" +
			enter + process.Find("mount") + " -T " + h.root + `/etc/fstab "$@"`,
		"umount":  enter + process.Find("umount") + ` "$@"`,
		"swapon":  `[ "$1" = /dev/broken ] || echo "$1 partition 1000 0 -2" >> ` + h.root + "/proc/swaps",
		"blkid":   `case "$*" in *LABEL=data*) echo 'tmpfs: LABEL="data"';; *nothing*) exit 2;; *) printf 'DEVNAME=/dev/sdx1\nUUID=abcd\nTYPE=ext4\n';; esac`,
		"swapoff": "exit 1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	h.t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// files provides the functions of the module file that are needed.
func (h *host) files() loader.Plugin {
	type args struct {
		Path   string
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	return loader.Plugin{Name: "file", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("mkdir", func(_ context.Context, a args) (any, error) {
				h.inside("mkdir", "-p", a.Path)
				return true, os.MkdirAll(filepath.Join(h.root, a.Path), 0o755)
			}),
			loader.F("is_link", func(_ context.Context, a args) (any, error) { return strings.HasPrefix(a.Path, "/dev/disk"), nil }),
			loader.F("readlink", func(context.Context, args) (any, error) { return "../../sdz2", nil }),
		}}, nil
	}}
}

func (h *host) write(name, body string) {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read(name string) string {
	h.t.Helper()
	src, err := os.ReadFile(filepath.Join(h.root, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(src)
}

func (h *host) run(fun string, test bool, words ...any) *data.Map {
	h.t.Helper()
	ctx := change.WithCall(h.t.Context(), &change.Call{Test: test, Low: &data.Map{}})
	v, err := h.states.Invoke(ctx, "mount."+fun, nil, data.NewMap(words...))
	if err != nil {
		h.t.Fatalf("%s %v: %v", fun, words, err)
	}
	return v.(*data.Map)
}

// A step is a state that runs in test mode, for real, and then twice again.
type step struct {
	fun            string
	words          []any
	would, did, is string // comments
	changes        *data.Map
	fails          bool
}

func comment(ret *data.Map) string {
	if list, ok := ret.Value("comment").([]any); ok {
		var lines []string
		for _, line := range list {
			lines = append(lines, data.Str(line))
		}
		return strings.Join(lines, "\n")
	}
	return ret.Text("comment")
}

func (h *host) check(s step) {
	h.t.Helper()
	expect := func(what string, ret *data.Map, result any, changes *data.Map, text string) {
		h.t.Helper()
		right := comment(ret) == text || s.fails && strings.HasPrefix(comment(ret), text) // depends on mount
		if ret.Value("result") != result || !data.Equal(ret.Value("changes"), changes) || !right {
			h.t.Errorf("%s %s %s: %s\nwant %v, %s, %q", s.fun, data.Repr(s.words), what,
				data.Repr(ret), result, data.Repr(changes), text)
		}
	}
	before := h.read("proc/self/mountinfo") + h.read("etc/fstab")
	expect("in test mode", h.run(s.fun, true, s.words...), nil, data.NewMap(), s.would)
	if h.read("proc/self/mountinfo")+h.read("etc/fstab") != before {
		h.t.Errorf("%s %s: test mode wrote", s.fun, data.Repr(s.words))
	}
	expect("", h.run(s.fun, false, s.words...), !s.fails, s.changes, s.did)
	if s.fails {
		return
	}
	for range 2 {
		expect("again", h.run(s.fun, false, s.words...), true, data.NewMap(), s.is)
	}
	if ret := h.run(s.fun, true, s.words...); ret.Value("result") != true {
		h.t.Errorf("%s %s again in test mode: %s", s.fun, data.Repr(s.words), data.Repr(ret))
	}
}

const (
	already = "Target was already mounted. Entry already exists in the fstab."
	isNew   = "Target was successfully mounted. Added new entry to the fstab."
)

func isMounted() *data.Map { return data.NewMap("mount", true, "persist", "new") }

// File systems are really mounted, changed and unmounted.
func TestMounts(t *testing.T) {
	h := newHost(t)
	tmpfs := func(name string, words ...any) []any {
		return append([]any{"name", name, "device", "tmpfs", "fstype", "tmpfs", "mkmnt", true}, words...)
	}
	for _, s := range []step{
		{"mounted", tmpfs("/mnt/a/", "opts", "size=10m,mode=0755,noexec,noauto"),
			"/mnt/a would be created and mounted", isNew, already, isMounted(), false},
		{"mounted", tmpfs("/mnt/a", "opts", []any{"size=20m", "mode=0755", "noexec", "noauto"}),
			"Remount would be forced because options (size=20m) changed",
			"Target was already mounted. Updated the entry in the fstab.", already,
			data.NewMap("umount", "Forced remount because options (size=20m) changed", "persist",
				"update"), false},
		{"mounted", tmpfs("/mnt/a", "opts", "size=20m,mode=0755,exec,noauto"),
			"Remount would be forced because options (exec) changed",
			"Target was already mounted. Updated the entry in the fstab.", already,
			data.NewMap("umount", "Forced remount because options (exec) changed", "persist",
				"update"), false},
		{"mounted", tmpfs("/mnt/there", "mkmnt", false), "/mnt/there would be mounted", isNew,
			already, isMounted(), false},
		{"mounted", tmpfs("/mnt/my dir", "persist", false),
			"/mnt/my dir would be created and mounted", "Target was successfully mounted",
			"Target was already mounted", data.NewMap("mount", true), false},
		{"mounted", []any{"name", "/mnt/bound", "device", "/mnt/a", "fstype", "none", "opts",
			"bind", "mkmnt", true}, "/mnt/bound would be created and mounted", isNew, already,
			isMounted(), false},
		{"mounted", tmpfs("/mnt/missing", "mkmnt", false),
			"/mnt/missing does not exist and would not be created",
			"Mount directory is not present", "", data.NewMap(), true},
		{"mounted", []any{"name", "/mnt/b", "device", "tmpfs", "fstype", "nosuchfs", "mkmnt", true},
			"/mnt/b would be created and mounted", "mount: /mnt/b: ", "", data.NewMap(), true},
		{"mounted", tmpfs("/mnt/later", "mount", false),
			"/mnt/later would be created, but not mounted. /mnt/later needs to be written to the fstab in order to be made persistent.",
			"/mnt/later was created, not mounted. Added new entry to the fstab.",
			"/mnt/later not mounted. Entry already exists in the fstab.", data.NewMap("persist",
				"new"), false},
		{"mounted", []any{"name", "/mnt/a", "device", "other", "fstype", "tmpfs"},
			"An umount would have been forced because devices do not match.  Watched: other. " +
				"/mnt/a is mounted, but its fstab entry must be updated.",
			"Target was successfully mounted. Updated the entry in the fstab.", already,
			data.NewMap("umount", "Forced unmount because devices don't match. Wanted: other, current: tmpfs", "mount", true, "persist", "update"), false},
		{"unmounted", []any{"name", "/mnt/bound", "persist", true},
			"Mount point /mnt/bound is mounted but should not be",
			"Target was successfully unmounted. Removed target from fstab",
			"Target was already unmounted. fstab entry not found", data.NewMap("umount", true,
				"persist", "purged"), false},
		{"unmounted", []any{"name", "/mnt/my dir"},
			"Mount point /mnt/my dir is mounted but should not be",
			"Target was successfully unmounted", "Target was already unmounted",
			data.NewMap("umount", true), false},
		{"unmounted", []any{"name", "/mnt/there", "device", "tmpfs", "persist", true},
			"Mount point /mnt/there is mounted but should not be",
			"Target was successfully unmounted. Removed target from fstab",
			"Target was already unmounted. fstab entry not found", data.NewMap("umount", true,
				"persist", "purged"), false},
		{"fstab_present", []any{"name", "tmpfs", "fs_file", "/mnt/there/", "fs_vfstype", "tmpfs"},
			"/mnt/there entry will be written in /etc/fstab.\nWill mount tmpfs on /mnt/there",
			"/mnt/there entry added in /etc/fstab.\nMounted tmpfs on /mnt/there",
			"/mnt/there entry was already in /etc/fstab.", data.NewMap("persist", "new"), false},
		{"fstab_present", []any{"name", "/dev/sdx1", "fs_file", "/data", "fs_vfstype", "ext4",
			"mount_by", "uuid", "mount", false}, "/data entry will be written in /etc/fstab.",
			"/data entry added in /etc/fstab.", "/data entry was already in /etc/fstab.",
			data.NewMap("persist", "new"), false},
		{"fstab_present", []any{"name", "UUID=abcd", "fs_file", "/data", "fs_vfstype", "ext4",
			"fs_mntops", "ro"}, "/data entry will be updated in /etc/fstab.",
			"/data entry updated in /etc/fstab.", "/data entry was already in /etc/fstab.",
			data.NewMap("persist", "change"), false},
		{"fstab_absent", []any{"name", "/dev/sdx1", "fs_file", "/data", "mount_by", "uuid"},
			"/data entry will be removed from /etc/fstab.", "/data entry removed from /etc/fstab.",
			"/data entry is already missing in /etc/fstab.", data.NewMap("persist", "removed"), false},
	} {
		h.check(s)
	}
	want := "# of the host\n/dev/sda1 / ext4 defaults 0 1\nother\t\t/mnt/a\ttmpfs\tdefaults\t0 0\ntmpfs\t\t/mnt/later\ttmpfs\tdefaults\t0 0\ntmpfs\t\t/mnt/there\ttmpfs\tdefaults\t0 0\n"
	if got := h.read("etc/fstab"); got != want {
		t.Errorf("the fstab has %q, want %q", got, want)
	}
}

// An option that is no longer desired is removed, if the minion knows that it was set before.
func TestOptionGone(t *testing.T) {
	h := newHost(t)
	words := func(opts string) []any {
		return []any{"name", "/mnt/there", "device", "tmpfs", "fstype", "tmpfs", "opts", opts,
			"persist", true}
	}
	h.run("mounted", false, words("rw,nosuid,nodev")...)
	h.check(step{"mounted", words("rw,nodev"),
		"Remount would be forced because options (nosuid)changed",
		"Target was already mounted. Updated the entry in the fstab.", already,
		data.NewMap("umount", "Forced remount because options (nosuid) changed", "persist", "update"), false})
}

func TestSwap(t *testing.T) {
	h := newHost(t)
	stats := data.NewMap("type", "partition", "size", "1000", "used", "0", "priority", "-2")
	with := func(more ...any) *data.Map { s := stats.Clone(); s.Update(data.NewMap(more...)); return s }
	h.check(step{"swap", []any{"name", "/dev/sdz1"}, "Swap /dev/sdz1 is set to be activated",
		"Swap /dev/sdz1 activated. Added new entry to the fstab.", "Swap /dev/sdz1 already active",
		with("persist", "new"), false})
	h.check(step{"swap", []any{"name", "/dev/disk/x", "persist", false},
		"Swap /dev/disk/x is set to be activated", "Swap /dev/disk/x activated",
		"Swap /dev/disk/x already active", with(), false})
	h.check(step{"swap", []any{"name", "/dev/broken"}, "Swap /dev/broken is set to be activated",
		"Swap /dev/broken failed to activate", "", data.NewMap(), true})
	if got := h.read("etc/fstab"); !strings.HasSuffix(got, "0 1\n/dev/sdz1\t\tnone\tswap\tdefaults\t0 0\n") {
		t.Errorf("the fstab has %q", got)
	}
}

func TestWatchAndWrongCalls(t *testing.T) {
	h := newHost(t)
	h.run("mounted", false, "name", "/mnt/there", "device", "tmpfs", "fstype", "tmpfs")
	for _, c := range []struct {
		fun    string
		words  []any
		result any
		text   string
	}{
		{"mod_watch", []any{"name", "/mnt/there", "sfun", "mounted", "device", "tmpfs", "fstype",
			"tmpfs", "opts", []any{"ro"}}, true, "/mnt/there remounted"},
		{"mod_watch", []any{"name", "/mnt/there", "sfun", "unmounted"}, true,
			"Watch not supported in unmounted at this time"},
		{"mounted", []any{"name", "", "device", "x", "fstype", "y"}, false,
			"Must provide name to mount.mounted"},
		{"mounted", []any{"name", "/x", "device", "", "fstype", "y"}, false,
			"Must provide device to mount.mounted"},
		{"mounted", []any{"name", "/x", "device", "x", "fstype", ""}, false,
			"Must provide fstype to mount.mounted"},
		{"mounted", []any{"name", "/mnt/there", "device", "LABEL=data", "fstype", "tmpfs",
			"persist", false}, true, "Target was already mounted"},
		{"mounted", []any{"name", "/mnt/there", "device", "LABEL=nothing", "fstype", "tmpfs"},
			false, "Unable to find device with label nothing."},
		{"mounted", []any{"name", "/mnt/there", "device", "x", "fstype", "tmpfs",
			"device_name_regex", []any{"tmp.*"}, "persist", false}, true,
			"An umount will not be forced because device matched device_name_regex: tmpfs"},
		{"unmounted", []any{"name", ""}, false, "Must provide name to mount.unmounted"},
		{"fstab_present", []any{"name", "/dev/nothing", "fs_file", "/x", "fs_vfstype", "ext4",
			"mount_by", "label"}, false, "Device /dev/nothing cannot be converted to label"},
	} {
		if ret := h.run(c.fun, false, c.words...); ret.Value("result") != c.result || comment(ret) != c.text {
			t.Errorf("%s %s: %s, want %q", c.fun, data.Repr(c.words), data.Repr(ret), c.text)
		}
	}
}

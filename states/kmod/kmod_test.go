package kmod_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	modules "github.com/brineproject/brine/modules/kmod"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/kmod"
)

// programs simulate the package kmod: a line in DIR/loaded is a module, snd_pcm depends on snd,
// stuck cannot be loaded.
var programs = map[string]string{
	"lsmod": `echo "Module                  Size  Used by"; cat DIR/loaded; exit 0`,
	"modprobe": `case $1 in stuck) echo "modprobe: ERROR: could not insert 'stuck': Operation not permitted" >&2; exit 1;; quiet) exit 0;; snd_pcm) add=snd;; esac
for m in $add $1; do grep -q "^$m " DIR/loaded || echo "$m 16384 0" >> DIR/loaded; done`,
	"rmmod": `grep -q "^$1 " DIR/loaded || { echo "rmmod: ERROR: Module $1 is not currently loaded" >&2; exit 1; }
grep -v "^$1 " DIR/loaded > DIR/l; mv DIR/l DIR/loaded`,
}

// A host has kernel modules.
type host struct {
	t      *testing.T
	root   string
	states *loader.Registry
}

func newHost(t *testing.T, grains *data.Map) *host {
	t.Helper()
	dir, root := t.TempDir(), t.TempDir()
	h := &host{t: t, root: root}
	for name, body := range programs {
		body = "#!/bin/sh\n" + strings.ReplaceAll(body, "DIR", dir) + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "loaded"),
		[]byte("ext4 999424 1\nmbcache 16384 1 ext4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	h.write("proc/sys/kernel/osrelease", "6.1.0-9-amd64\n")
	h.write("lib/modules/6.1.0-9-amd64/modules.builtin", "kernel/fs/binfmt_misc.ko\n")
	for _, name := range []string{"snd-pcm.ko", "snd.ko.xz", "stuck.ko", "quiet.ko", "dummy.ko",
		"fs/ext4.ko"} {
		h.write("lib/modules/6.1.0-9-amd64/kernel/"+name, "")
	}
	h.write("etc/modules", "# those of boot\n")
	h.write("etc/modules-load.d/x", "")
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return grains }}
	funcs, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), modules.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if h.states, err = loader.NewRegistry(funcs.Env(), []loader.Plugin{kmod.Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
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

func (h *host) run(fun string, test bool, words ...any) (result any, changes *data.Map, comment string) {
	h.t.Helper()
	ctx := change.WithCall(h.t.Context(), &change.Call{Test: test, Low: &data.Map{}})
	v, err := h.states.Invoke(ctx, "kmod."+fun, nil, data.NewMap(words...))
	if err != nil {
		h.t.Fatal(err)
	}
	ret := v.(*data.Map)
	return ret.Value("result"), ret.Value("changes").(*data.Map), ret.Text("comment")
}

// A step is a state that runs in test mode, for real, again, and in test mode again.
type step struct {
	fun             string
	words           []any
	would, did, now string // comments
	changes         *data.Map
	fails           bool
}

func (h *host) check(s step) {
	h.t.Helper()
	result, changes, comment := h.run(s.fun, true, s.words...)
	if result != nil || changes.Len() > 0 || comment != s.would {
		h.t.Errorf("%s %s in test mode: %v, %s, %q, want %q", s.fun, data.Repr(s.words), result,
			data.Repr(changes), comment, s.would)
	}
	result, changes, comment = h.run(s.fun, false, s.words...)
	if result != !s.fails || !data.Equal(changes, s.changes) || comment != s.did {
		h.t.Errorf("%s %s: %v, %s, %q, want %s, %q", s.fun, data.Repr(s.words), result,
			data.Repr(changes), comment, data.Repr(s.changes), s.did)
	}
	result, changes, comment = h.run(s.fun, false, s.words...)
	if result != !s.fails || !s.fails && changes.Len() > 0 || comment != s.now {
		h.t.Errorf("%s %s again: %v, %s, %q, want %q", s.fun, data.Repr(s.words), result,
			data.Repr(changes), comment, s.now)
	}
	if s.fails {
		return
	}
	result, changes, comment = h.run(s.fun, true, s.words...)
	if result != true || changes.Len() > 0 || comment != s.now {
		h.t.Errorf("%s %s in test mode again: %v, %s, %q, want %q", s.fun, data.Repr(s.words),
			result, data.Repr(changes), comment, s.now)
	}
}

func TestModules(t *testing.T) {
	h := newHost(t, data.NewMap("kernel", "Linux", "os_family", "Debian"))
	all := []any{"snd_pcm", "dummy", "snd"}
	for _, s := range []step{
		{"present", []any{"name", "dummy"}, "Kernel module dummy is set to be loaded",
			"Loaded kernel module dummy", "Kernel module dummy is already present",
			data.NewMap("dummy", "loaded"), false},
		{"present", []any{"name", "x", "mods", all},
			"Kernel module dummy is already present\nKernel modules snd_pcm, snd are set to be loaded",
			"Kernel module dummy is already present\nLoaded kernel modules snd_pcm, snd",
			"Kernel modules snd_pcm, dummy, snd are already present",
			data.NewMap("snd", "loaded", "snd_pcm", "loaded"), false},
		{"present", []any{"name", "dummy", "persist", true},
			"Kernel module dummy is set to be loaded", "Loaded kernel module dummy",
			"Kernel module dummy is already present", data.NewMap("dummy", "loaded"), false},
		{"present", []any{"name", "stuck"}, "Kernel module stuck is set to be loaded",
			"Failed to load kernel module stuck: Error loading module stuck: modprobe: ERROR: could not insert 'stuck': Operation not permitted",
			"Failed to load kernel module stuck: Error loading module stuck: modprobe: ERROR: could not insert 'stuck': Operation not permitted", data.NewMap(), true},
		{"present", []any{"name", "quiet"}, "Kernel module quiet is set to be loaded",
			"Failed to load kernel module quiet", "Failed to load kernel module quiet", data.NewMap(), true},
		{"present", []any{"name", "nope"}, "Kernel module nope is set to be loaded",
			"Kernel module nope is unavailable", "Kernel module nope is unavailable", data.NewMap(), true},
		{"absent", []any{"name", "x", "mods", all},
			"Kernel modules snd_pcm, dummy, snd are set to be removed",
			"Removed kernel modules snd_pcm, dummy, snd",
			"Kernel modules snd_pcm, dummy, snd are already removed", data.NewMap("snd_pcm",
				"removed", "dummy", "removed", "snd", "removed"), false},
		{"absent", []any{"name", "dummy", "persist", true},
			"Kernel module dummy is set to be removed", "Removed kernel module dummy",
			"Kernel module dummy is already removed", data.NewMap("dummy", "removed"), false},
		{"present", []any{"name", "dummy", "persist", true},
			"Kernel module dummy is set to be loaded", "Loaded kernel module dummy",
			"Kernel module dummy is already present", data.NewMap("dummy", "loaded"), false},
		{"absent", []any{"name", "dummy", "persist", true, "comment", false},
			"Kernel module dummy is set to be removed", "Removed kernel module dummy",
			"Kernel module dummy is already removed", data.NewMap("dummy", "removed"), false},
	} {
		h.check(s)
	}
	if src, err := os.ReadFile(filepath.Join(h.root, "etc/modules")); err != nil ||
		string(src) != "# those of boot\n" {
		t.Errorf("etc/modules has %q, %v", src, err)
	}
}

// systemd uses another file.
func TestFileOfSystemd(t *testing.T) {
	h := newHost(t, data.NewMap("kernel", "Linux", "os_family", "Debian",
		"systemd", data.NewMap("version", "252")))
	h.run("present", false, "name", "dummy", "persist", true)
	h.run("absent", false, "name", "dummy", "persist", true)
	if src, err := os.ReadFile(filepath.Join(h.root,
		"etc/modules-load.d/salt_managed.conf")); err != nil || string(src) != "#dummy\n" {
		t.Errorf("it has %q, %v", src, err)
	}
}

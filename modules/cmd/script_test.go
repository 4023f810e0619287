//go:build unix

package cmd

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// nobodys returns a directory of the user nobody, on a path that everybody can enter.
func nobodys(t *testing.T) string {
	t.Helper()
	needsRoot(t)
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "brine-script")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestScriptStaysOutOfFoldersOfOthers runs scripts in a directory whose owner could replace its
// files, as that user and as root.
func TestScriptStaysOutOfFoldersOfOthers(t *testing.T) {
	dir := nobodys(t)
	src := filepath.Join(t.TempDir(), "x.sh")
	write(t, src, "#!/bin/sh\ndirname \"$0\"; pwd; id -un; ls -A\n", 0o644)
	for _, name := range []string{"nobody", "root"} {
		v, err := call(t, &loader.Env{}, "cmd.script", []any{src}, "cwd", dir, "runas", name)
		m, ok := v.(*data.Map)
		if want := filepath.Clean(os.TempDir()) + "\n" + dir + "\n" + name; err != nil || !ok ||
			m.Text("stdout") != want {
			t.Errorf("cmd.script as %s = %s, %v; want %q", name, data.Repr(v), err, want)
		}
	}
}

// TestScriptFileIsNotTakenByName replaces the script with a link to a file of root while the script
// is fetched.
func TestScriptFileIsNotTakenByName(t *testing.T) {
	needsRoot(t)
	dir, other := t.TempDir(), t.TempDir()
	victim := filepath.Join(other, "victim")
	write(t, victim, "precious", 0o644)
	write(t, other+"/cached", "#!/bin/sh\ntrue\n", 0o644)
	swapped := false
	cp := loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("cache_file",
			func(context.Context, cacheArgs) (any, error) {
				names, err := filepath.Glob(dir + "/__salt.tmp.*")
				if err != nil || len(names) != 1 {
					t.Errorf("files %v, %v", names, err)
					return false, err
				}
				swapped = true
				if err := os.Remove(names[0]); err != nil {
					return false, err
				}
				return other + "/cached", os.Symlink(victim, names[0])
			})}}, nil
	}}
	r := newRegistry(t, &loader.Env{}, cp)
	_, err := r.Invoke(t.Context(), "cmd.script", []any{"salt://x.sh"},
		data.NewMap("cwd", dir, "runas", "nobody"))
	text, readErr := os.ReadFile(victim)
	info, statErr := os.Stat(victim)
	if readErr != nil || statErr != nil || string(text) != "precious" || info.Mode().Perm() != 0o644 {
		t.Fatalf("the file of root: %q, %v, %v, %v", text, info, readErr, statErr)
	}
	if ours, err := user.LookupId("0"); err != nil || !ownedBy(info, ours) || !swapped {
		t.Errorf("the file of root has another owner, or was not linked to (%v), %v", swapped, err)
	}
	t.Logf("cmd.script: %v", err)
}

// TestScriptArguments checks that a script gets words, from a list or a text, and
// that no shell changes them.
func TestScriptArguments(t *testing.T) {
	src := filepath.Join(t.TempDir(), "x.sh")
	write(t, src, "#!/bin/sh\nfor a; do echo \"<$a>\"; done\n", 0o644)
	for _, tt := range []struct {
		args any
		want string
	}{
		{[]any{"foo foo", "bar", int64(3)}, "<foo foo>\n<bar>\n<3>"},
		{`a "b c" $HOME`, "<a>\n<b c>\n<$HOME>"},
		{data.NewMap("k", "v", "x y", 2), "<k>\n<x y>"},
		{[]any{data.NewMap("k", int64(1)), "b"}, "<{'k': 1}>\n<b>"},
		{[]any{data.NewMap("k", []any{data.NewMap("x", true).SetOrdered()}).SetOrdered(), []any{"b"}},
			"<OrderedDict([('k', [OrderedDict([('x', True)])])])>\n<['b']>"},
		{nil, ""},
		{int64(0), ""},
		{&data.Map{}, ""},
	} {
		v, err := call(t, &loader.Env{}, "cmd.script", []any{src}, "args", tt.args, "python_shell", true)
		if m, ok := v.(*data.Map); err != nil || !ok || m.Text("stdout") != tt.want {
			t.Errorf("args %s: %s, %v; want %q", data.Repr(tt.args), data.Repr(v), err, tt.want)
		}
	}
	for kind, args := range map[string]any{"int": int64(5), "float": 1.5, "bool": true} {
		_, err := call(t, &loader.Env{}, "cmd.script", []any{src}, "args", args)
		if want := "Value after * must be an iterable, not " + kind; errorText(err) != want {
			t.Errorf("args %v: %v, want %s", args, err, want)
		}
	}
}

func TestSafeFolder(t *testing.T) {
	mine := t.TempDir()
	mine, err := filepath.EvalSymlinks(mine)
	if err != nil {
		t.Fatal(err)
	}
	open, sticky, link := mine+"/open", mine+"/sticky", mine+"/link"
	for dir, mode := range map[string]os.FileMode{open: 0o777, open + "/below": 0o755,
		sticky: 0o777 | os.ModeSticky} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(sticky, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{mine: mine, sticky: sticky, link: sticky,
		open: "", open + "/below": "", "": "", "relative": ""} {
		if got, err := safeDir(dir); got != want || err != nil {
			t.Errorf("safeDir(%q) = %q, %v; want %q", dir, got, err, want)
		}
	}
	if _, err := safeDir(mine + "/none"); !os.IsNotExist(err) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

func ownedBy(info os.FileInfo, u *user.User) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && strconv.FormatUint(uint64(stat.Uid), 10) == u.Uid
}

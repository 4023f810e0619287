package selinux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// programs puts the programs of SELinux into the search path; they are never run.
func programs(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"semanage", "setsebool", "semodule"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18, whose grep read the output of
// semanage.
func TestCalls(t *testing.T) {
	programs(t)
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

func registry(t *testing.T, root string) (*loader.Registry, *replay.Shell) {
	t.Helper()
	programs(t)
	shell := &replay.Shell{Answers: data.NewMap()}
	env := &loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, shell
}

// Words that a program would read as options, and line ends, reach no program.
func TestRefused(t *testing.T) {
	r, shell := registry(t, t.TempDir())
	for _, bad := range []string{"-f", "a\nb"} {
		for fun, args := range map[string][]any{
			"setsebool": {bad, "on"}, "setsebools": {data.NewMap(bad, "on")}, "setsemod": {bad, "Enabled"},
			"install_semod": {bad}, "remove_semod": {bad}, "fcontext_add_policy": {"/a", nil, bad},
			"fcontext_delete_policy": {bad}, "fcontext_policy_is_applied": {bad},
			"fcontext_apply_policy": {bad}, "port_add_policy": {"tcp/80", bad},
		} {
			for range 2 {
				if v, err := r.Invoke(t.Context(), "selinux."+fun, args, nil); err == nil {
					t.Errorf("%s %q gives %s", fun, args, data.Repr(v))
				}
			}
		}
	}
	if data.Truth(shell.Ran) {
		t.Errorf("programs ran: %s", data.Repr(shell.Ran))
	}
}

// The mode is in a file of the kernel, and for the next boot in the configuration. The values are
// those of Salt, which has no configuration to write for a number.
func TestMode(t *testing.T) {
	root := t.TempDir()
	r, _ := registry(t, root)
	expect := func(fun string, args []any, want any) {
		t.Helper()
		for range 2 {
			if got, err := r.Invoke(t.Context(), "selinux."+fun, args, nil); err != nil ||
				!data.Equal(got, want) {
				t.Errorf("%s %s gives %s, %v, want %s", fun, data.Repr(args), data.Repr(got), err,
					data.Repr(want))
			}
		}
	}
	expect("getenforce", nil, "Disabled")
	expect("getconfig", nil, nil)
	expect("selinux_fs_path", nil, nil)
	if v, err := r.Invoke(t.Context(), "selinux.setenforce", []any{"enforcing"}, nil); err == nil {
		t.Errorf("without a configuration setenforce gives %s", data.Repr(v))
	}
	kernel, config := filepath.Join(root, "sys/fs/selinux"), filepath.Join(root, "etc/selinux")
	const text = "# SELINUX= can be\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"
	if err := errors.Join(os.MkdirAll(kernel, 0o755), os.MkdirAll(config, 0o755),
		os.WriteFile(filepath.Join(kernel, "enforce"), []byte("1"), 0o644),
		os.WriteFile(filepath.Join(config, "config"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	expect("selinux_fs_path", nil, "/sys/fs/selinux")
	expect("getenforce", nil, "Enforcing")
	expect("getconfig", nil, "Enforcing")
	for _, c := range []struct{ mode, now, next any }{
		{"Permissive", "Permissive", "Permissive"}, {int64(1), "Enforcing", "Enforcing"},
		{"disabled", "Permissive", "Disabled"}, {false, "Permissive", "Permissive"},
		{"odd", "Invalid mode odd", "Permissive"}, {nil, "Invalid mode None", "Permissive"},
		{"enforcing", "Enforcing", "Enforcing"},
	} {
		expect("setenforce", []any{c.mode}, c.now)
		expect("getconfig", nil, c.next)
	}
	now, err := os.ReadFile(filepath.Join(config, "config"))
	info, statErr := os.Stat(filepath.Join(config, "config"))
	if errors.Join(err, statErr) != nil || string(now) != text || info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration is %s, %q, %v", info.Mode(), now, err)
	}
	for _, text := range []string{"SELINUXTYPE=targeted", "SELINUXTYPE=targeted\n", ""} {
		if err := os.WriteFile(filepath.Join(config, "config"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("setenforce", []any{"permissive"}, "Permissive")
		expect("getconfig", nil, "Permissive")
		now, err := os.ReadFile(filepath.Join(config, "config"))
		if want := strings.TrimPrefix(strings.TrimSuffix(text, "\n")+"\nSELINUX=permissive\n", "\n"); err != nil ||
			string(now) != want {
			t.Errorf("the configuration is %q, %v, want %q", now, err, want)
		}
	}
}

func FuzzEntry(f *testing.F) {
	f.Add("/srv/a.b                  regular file       staff_u:object_r:etc_t:s0 ", "/srv/a.b")
	f.Add("/proc/.*   all files    <<None>> ", "/proc/.*")
	f.Fuzz(func(t *testing.T, line, name string) {
		if e := entryOf(line, name); e != nil && (e.Text("filespec") != name || e.Text("sel_type") == "") {
			t.Errorf("%q has %s", line, data.Repr(e))
		}
		booleans([]string{line})
		modules([]string{line}, 1)
	})
}

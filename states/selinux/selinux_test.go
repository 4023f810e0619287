package selinux_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/selinux"
)

// host returns the states of a host with the programs in dir/bin, and dir as its root.
func host(t *testing.T, dir string) *loader.Registry {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SELinux is Linux's")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	env := &loader.Env{Root: dir, Opts: data.NewMap(),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	functions, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	own := &loader.Env{Root: dir, Opts: env.Opts, Grains: env.Grains, Functions: functions,
		Call: functions.Invoke}
	states, err := loader.NewRegistry(own, []loader.Plugin{selinux.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// testdata/steps.json has the results of Salt 3006.18, and the commands that changed something, with
// fakes of the programs that keep the policy in files.
func TestSteps(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/steps.json")
}

// testdata/own.json has the cases in which the results differ from Salt's.
func TestDeviations(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/own.json")
}

// The mode is read and written below the root; the comments are Salt's.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	bin, kernel, config := filepath.Join(dir, "bin"), filepath.Join(dir, "sys/fs/selinux"),
		filepath.Join(dir, "etc/selinux")
	for _, d := range []string{bin, kernel, config} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"semanage", "setsebool", "semodule"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	now, next := filepath.Join(kernel, "enforce"), filepath.Join(config, "config")
	if err := errors.Join(os.WriteFile(now, []byte("1"), 0o644),
		os.WriteFile(next, []byte("SELINUX=enforcing\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	files := func() string {
		a, err := os.ReadFile(now)
		b, err2 := os.ReadFile(next)
		return string(a) + " " + string(b) + data.Str(errors.Join(err, err2) == nil)
	}
	states := host(t, dir)
	run := func(test bool, name, result string, changes *data.Map, comment string) {
		t.Helper()
		call := *change.CallOf(t.Context())
		call.Test = test
		was := files()
		v, err := states.Invoke(change.WithCall(t.Context(), &call), "selinux.mode", []any{name}, nil)
		ret, ok := v.(*data.Map)
		if err != nil || !ok || data.Str(ret.Value("result")) != result ||
			!data.Equal(ret.Value("changes"), changes) || ret.Text("comment") != comment {
			t.Errorf("mode %s gives %s, %v, want %s, %s, %q", name, data.Repr(v), err, result,
				data.Repr(changes), comment)
		}
		if is := files(); is != was && (test || changes.Len() == 0) {
			t.Errorf("mode %s wrote %q", name, is)
		}
	}
	none := data.NewMap()
	run(false, "enforcing", "True", none, "SELinux is already in Enforcing mode")
	run(false, "x", "False", none, "x is not an accepted mode")
	for _, c := range []struct{ name, mode, old, new string }{
		{"permissive", "Permissive", "Enforcing", "Permissive"},
		{"1", "Enforcing", "Permissive", "Enforcing"},
		{"disabled", "Disabled", "Enforcing", "Permissive"},
	} {
		run(true, c.name, "None", change.OldNew(c.old, c.mode),
			"SELinux mode is set to be changed to "+c.mode)
		run(false, c.name, "True", change.OldNew(c.old, c.new), "SELinux has been set to "+c.mode+" mode")
		for _, test := range []bool{false, true} {
			run(test, c.name, "True", none, "SELinux is already in "+c.mode+" mode")
		}
	}
	run(false, "permissive", "True", change.OldNew("Disabled", "Permissive"),
		"SELinux has been set to Permissive mode")
}

// As in Salt, the comment of contexts that restorecon could not set is its result.
func TestNotApplied(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"semanage", "setsebool", "semodule", "restorecon"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name),
			[]byte("#!/bin/sh\necho Would relabel; [ $1 = -n ]\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := host(t, dir)
	for range 2 {
		v, err := states.Invoke(t.Context(), "selinux.fcontext_policy_applied", []any{"/srv"}, nil)
		ret, _ := v.(*data.Map)
		ran, _ := ret.Value("comment").(*data.Map)
		if err != nil || ret.Value("result") != false || data.Truth(ret.Value("changes")) ||
			!data.Equal(ran.Value("retcode"), int64(1)) || ran.Text("stdout") != "Would relabel" {
			t.Errorf("got %s, %v", data.Repr(v), err)
		}
	}
}

// A policy or a context that cannot be read fails the state, and is not taken for an absent one.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"semanage", "setsebool", "semodule", "restorecon"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name),
			[]byte("#!/bin/sh\necho not readable >&2; exit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := host(t, dir)
	for fun, kwargs := range map[string]*data.Map{
		"fcontext_policy_applied": data.NewMap("name", "/srv"),
		"fcontext_policy_absent":  data.NewMap("name", "/srv"),
		"fcontext_policy_present": data.NewMap("name", "/srv", "sel_type", "etc_t"),
		"port_policy_absent":      data.NewMap("name", "tcp/8080"),
		"boolean":                 data.NewMap("name", "web", "value", "on"),
		"module":                  data.NewMap("name", "abrt"),
	} {
		for range 2 {
			v, err := states.Invoke(t.Context(), "selinux."+fun, nil, kwargs)
			ret, _ := v.(*data.Map)
			if err != nil || ret.Value("result") != false || data.Truth(ret.Value("changes")) ||
				!strings.HasSuffix(ret.Text("comment"), "not readable") {
				t.Errorf("%s gives %s, %v", fun, data.Repr(v), err)
			}
		}
	}
}

package rvm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/render"
)

// registry returns the module on a host with the programs that the tests of the state have.
func registry(t *testing.T) (*loader.Registry, string) {
	t.Helper()
	bin, err := filepath.Abs("../../states/rvm/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Setenv("FAKE", root)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1"), Root: root},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, root
}

// TestCalls makes calls in sequence, with the answers of Salt 3006.18: rvm.is_installed, rvm.install,
// rvm.install_ruby, rvm.reinstall_ruby, rvm.list, rvm.set_default, rvm.get, rvm.do, rvm.wrapper,
// rvm.rubygems, rvm.gemset_create, rvm.gemset_list, rvm.gemset_list_all, rvm.gemset_delete,
// rvm.gemset_empty and rvm.gemset_copy.
func TestCalls(t *testing.T) {
	r, root := registry(t)
	calls.Sequence(t, "testdata/calls.json", r.Invoke)
	if err := os.WriteFile(filepath.Join(root, "offline"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "rvm.install", nil, nil); err == nil || err.Error() !=
		"Error encountered while downloading the RVM installer" {
		t.Errorf("an installer that fails: %v, %v", got, err)
	}
}

// Names reach rvm neither as options nor as several lines.
func TestRefused(t *testing.T) {
	r, _ := registry(t)
	for _, bad := range []string{"--x", "a\nb"} {
		for fun, args := range map[string][]any{
			"install_ruby": {bad}, "reinstall_ruby": {bad}, "set_default": {bad}, "get": {bad},
			"wrapper": {"3.3.4", bad}, "rubygems": {"3.3.4", bad}, "gemset_create": {"3.3.4", bad},
			"gemset_delete": {bad, "one"}, "gemset_empty": {"3.3.4", bad}, "gemset_copy": {"a", bad},
			"gemset_list": {bad}, "do": {bad, "true"},
		} {
			if got, err := r.Invoke(t.Context(), "rvm."+fun, args, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, args, data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "rvm.do", []any{"3.3.4", "'"}, nil); err == nil {
		t.Errorf("half a quote gives %v", got)
	}
}

// A user's own rvm counts before that of the host, and is told to build from source.
func TestOwnProgram(t *testing.T) {
	home := t.TempDir()
	m := &module{system: "/usr/local/rvm/bin/rvm"}
	t.Setenv("HOME", home)
	for _, user := range []string{"", "no-such-user"} {
		if got := m.program(user); got != m.system {
			t.Errorf("user %q: %s", user, got)
		}
	}
}

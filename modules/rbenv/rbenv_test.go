package rbenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/render"
)

// registry returns the module on a host with the programs that the tests of the state have.
func registry(t *testing.T, root string) *loader.Registry {
	t.Helper()
	bin, err := filepath.Abs("../../states/rbenv/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env := &loader.Env{Opts: data.NewMap("id", "web1", "rbenv.root", root, "rbenv.build_env",
		`CFLAGS="-O2 -g"`)}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFunctions installs rbenv and a version of Ruby, and looks at the results.
func TestFunctions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "rbenv")
	r := registry(t, root)
	for _, step := range []struct {
		fun  string
		args []any
		want any
	}{
		{"is_installed", nil, false}, {"versions", nil, []any{}}, {"default", nil, ""}, {"install_ruby",
			[]any{"2.7.0"}, false},
		{"update", nil, false}, {"install", nil, true}, {"is_installed", nil, true}, {"install", nil, true},
		{"list", nil, []any{"2.7.0", "3.2.1"}}, {"default", nil, "system"},
		{"install_ruby", []any{"ruby-2.7.0"}, "Installed ruby-2.7.0 with -O2 -g"}, {"versions", nil,
			[]any{"2.7.0"}},
		{"install_ruby", []any{"9.9"}, false}, {"default", []any{"2.7.0"}, true}, {"default", nil, "2.7.0"},
		{"rehash", nil, true}, {"do", []any{`sh -c 'echo ${PATH%%:*}'`}, root + "/shims"}, {"do",
			[]any{"false"}, false},
		{"do_with_ruby", []any{"2.7.0", `sh -c 'echo $RBENV_VERSION'`}, "2.7.0"},
		{"uninstall_ruby", []any{"2.7.0"}, true}, {"versions", nil, []any{}},
	} {
		if got, err := r.Invoke(t.Context(), "rbenv."+step.fun, step.args, nil); err != nil ||
			!data.Equal(got, step.want) {
			t.Errorf("%s %s gives %s, %v, want %s", step.fun, data.Repr(step.args), data.Repr(got), err,
				data.Repr(step.want))
		}
	}
}

// A version reaches rbenv neither as an option nor as several lines. A command is needed.
func TestRefused(t *testing.T) {
	r := registry(t, filepath.Join(t.TempDir(), "rbenv"))
	if _, err := r.Invoke(t.Context(), "rbenv.install", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"--list", "a\nb"} {
		for _, fun := range []string{"install_ruby", "uninstall_ruby", "default"} {
			if got, err := r.Invoke(t.Context(), "rbenv."+fun, []any{bad}, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, bad, data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "rbenv.do", []any{""}, nil); err == nil ||
		!strings.Contains(err.Error(), "Command must be specified") {
		t.Errorf("without a command: %v, %v", got, err)
	}
}

// The directory is that of the user, unless an option names one.
func TestExpanded(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for path, want := range map[string]string{"/x": "/x", "~/x": "/home/me/x", "~": "/home/me",
		"~no-such-user/x": "~no-such-user/x"} {
		if got := expanded(path); got != want {
			t.Errorf("%s becomes %s", path, got)
		}
	}
}

package pyenv

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
	bin, err := filepath.Abs("../../states/pyenv/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env := &loader.Env{Opts: data.NewMap("id", "web1", "pyenv.root", root, "pyenv.build_env",
		`CFLAGS="-O2 -g"`)}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFunctions installs pyenv and a version of Python, and looks at the results.
func TestFunctions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "pyenv")
	r := registry(t, root)
	for _, step := range []struct {
		fun  string
		args []any
		want any
	}{
		{"is_installed", nil, false}, {"versions", nil, []any{}}, {"default", nil, ""}, {"install_python",
			[]any{"3.12.4"}, false},
		{"update", nil, false}, {"install", nil, true}, {"is_installed", nil, true}, {"install", nil, true},
		{"list", nil, []any{"3.12.4", "3.13.0"}}, {"default", nil, "system"},
		{"install_python", []any{"python-3.12.4"}, "Installed python-3.12.4 with -O2 -g"}, {"versions", nil,
			[]any{"3.12.4"}},
		{"install_python", []any{"9.9"}, false}, {"default", []any{"3.12.4"}, true}, {"default", nil, "3.12.4"},
		{"rehash", nil, true}, {"do", []any{`sh -c 'echo ${PATH%%:*}'`}, root + "/shims"}, {"do",
			[]any{"false"}, false},
		{"do_with_python", []any{"3.12.4", `sh -c 'echo $PYENV_VERSION'`}, "3.12.4"},
		{"do", []any{`FOO=bar B_2='a =b' E= sh -c 'echo "$FOO,$B_2,${E-none},$1,${PATH%%:*}"' x C=d`},
			"bar,a =b,,C=d," + root + "/shims"},
		{"do_with_python", []any{"3.12.4", `FOO=bar sh -c 'echo $FOO $PYENV_VERSION'`}, "bar 3.12.4"},
		{"uninstall_python", []any{"3.12.4"}, true}, {"versions", nil, []any{}},
	} {
		if got, err := r.Invoke(t.Context(), "pyenv."+step.fun, step.args, nil); err != nil ||
			!data.Equal(got, step.want) {
			t.Errorf("%s %s gives %s, %v, want %s", step.fun, data.Repr(step.args), data.Repr(got), err,
				data.Repr(step.want))
		}
	}
}

// A command is looked for among the programs of pyenv first.
func TestShims(t *testing.T) {
	root := filepath.Join(t.TempDir(), "pyenv")
	r := registry(t, root)
	if err := os.MkdirAll(filepath.Join(root, "shims"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := []byte("#!/bin/sh\necho \"$FOO $*\"\n")
	if err := os.WriteFile(filepath.Join(root, "shims/pip0"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := r.Invoke(t.Context(), "pyenv.do", []any{"FOO=bar pip0 install x"}, nil)
	if err != nil || got != "bar install x" {
		t.Errorf("a program of pyenv: %s, %v", data.Repr(got), err)
	}
}

// A version reaches pyenv neither as an option nor as several lines. A command is needed.
func TestRefused(t *testing.T) {
	r := registry(t, filepath.Join(t.TempDir(), "pyenv"))
	if _, err := r.Invoke(t.Context(), "pyenv.install", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"--list", "a\nb"} {
		for _, fun := range []string{"install_python", "uninstall_python", "default"} {
			if got, err := r.Invoke(t.Context(), "pyenv."+fun, []any{bad}, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, bad, data.Repr(got))
			}
		}
	}
	for _, line := range []string{"", "FOO=bar"} {
		if got, err := r.Invoke(t.Context(), "pyenv.do", []any{line}, nil); err == nil ||
			!strings.Contains(err.Error(), "needs a command") {
			t.Errorf("%q without a command: %v, %v", line, got, err)
		}
	}
}

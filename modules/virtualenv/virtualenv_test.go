package virtualenv_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/virtualenv"
	"github.com/brineproject/brine/render"
)

// host returns the module with a program virtualenv that prints its version, or else its arguments.
func host(t *testing.T) (funcs *loader.Registry, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, body := range map[string]string{
		"virtualenv": `test "$1" = --version && echo "virtualenv 20.13.0 from /usr/lib/x" || printf '<%s>' "$@"`,
		"pyvenv":     `printf '<%s>' "$@"`,
		"old":        `echo 1.9.1`, "dumb": `exit 2`, "odd": `echo none`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), virtualenv.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return funcs, dir
}

// TestCreate checks the command lines of programs, and Salt's texts for unsupported options.
func TestCreate(t *testing.T) {
	funcs, dir := host(t)
	for _, c := range []struct {
		program string
		words   []any
		want    string
	}{
		{"virtualenv", nil, "</v>"},
		{"virtualenv", []any{"clear", true, "system_site_packages", true, "prompt", "p",
			"never_download", true, "extra_search_dir", "/a,/b", "python", "sh"},
			"<--python=sh><--extra-search-dir=/a><--extra-search-dir=/b><--never-download><--prompt='p'><--clear><--system-site-packages></v>"},
		{"pyvenv", []any{"upgrade", true, "symlinks", true}, "<--upgrade><--symlinks></v>"},
		{"virtualenv", []any{"upgrade", true},
			"The `upgrade`(`--upgrade`) option is not supported by '@/virtualenv'"},
		{"virtualenv", []any{"symlinks", true},
			"The `symlinks`(`--symlinks`) option is not supported by '@/virtualenv'"},
		{"pyvenv", []any{"python", "sh"}, "The `python`(`--python`) option is not supported by '@/pyvenv'"},
		{"pyvenv", []any{"extra_search_dir", "/a"},
			"The `extra_search_dir`(`--extra-search-dir`) option is not supported by '@/pyvenv'"},
		{"pyvenv", []any{"never_download", true},
			"The `never_download`(`--never-download`) option is not supported by '@/pyvenv'"},
		{"virtualenv", []any{"python", "/no/python"}, "Cannot find requested python (/no/python)."},
	} {
		for range 2 {
			words := data.NewMap(append([]any{"venv_bin", filepath.Join(dir, c.program)}, c.words...)...)
			v, err := funcs.Invoke(t.Context(), "virtualenv.create", []any{"/v"}, words)
			ret, _ := v.(*data.Map)
			got := ret.Text("stdout")
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "@")
			}
			if got != c.want {
				t.Errorf("%s %s: got %s, want %s", c.program, data.Repr(c.words), got, c.want)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	funcs, dir := host(t)
	for program, want := range map[string]string{
		"virtualenv": "(20, 13, 0)", "old": "(1, 9, 1)", "odd": "invalid literal for int() with base 10: ''",
		"dumb": "Unable to get the virtualenv version output using '['@/dumb', '--version']'.",
	} {
		for range 2 {
			v, err := funcs.Invoke(t.Context(), "virtualenv.virtualenv_ver",
				[]any{filepath.Join(dir, program)}, nil)
			got := data.Repr(v)
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "@")
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: got %s, want %s", program, got, want)
			}
		}
	}
}

// TestNoEnvironment tests a directory without Python, and names that would inject code.
func TestNoEnvironment(t *testing.T) {
	funcs, dir := host(t)
	for range 2 {
		for fun, args := range map[string][]any{"get_site_packages": nil,
			"get_distribution_path": {"pip"}, "get_resource_path": {"pip", "a"},
			"get_resource_content": {"pip", "a"}} {
			_, err := funcs.Invoke(t.Context(), "virtualenv."+fun, append([]any{dir}, args...), nil)
			if err == nil || err.Error() != "Path '"+dir+
				"' does not appear to be a virtualenv: bin/python not found." {
				t.Errorf("%s: %v", fun, err)
			}
			if fun == "get_site_packages" {
				continue
			}
			if _, err := funcs.Invoke(t.Context(), "virtualenv."+fun,
				[]any{dir, "x'); import os; ('"}, nil); loader.KindOf(err) != loader.KindInvocation {
				t.Errorf("%s with a program as a name: %v", fun, err)
			}
		}
	}
}

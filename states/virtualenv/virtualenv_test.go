package virtualenv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/pip"
	venv "github.com/brineproject/brine/modules/virtualenv"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/virtualenv"
)

// An environment is first announced in test mode, then created, and then left alone.
func TestManaged(t *testing.T) {
	python := process.Find("python3")
	need.That(t, "python3 with venv and ensurepip",
		exec.Command(python, "-c", "import venv, ensurepip").Run())
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_NO_INDEX", "1")
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), pip.Plugin(), venv.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{virtualenv.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "venv")
	run := func(test bool, words ...any) string {
		ctx := change.WithCall(t.Context(),
			&change.Call{Test: test, Low: data.NewMap(), SaltEnv: "base", Run: "r"})
		v, err := states.Invoke(ctx, "virtualenv.managed", nil,
			data.NewMap(append([]any{"name", dir, "venv_bin", python}, words...)...))
		ret, ok := v.(*data.Map)
		if err != nil || !ok {
			t.Fatalf("%v, %v", v, err)
		}
		return strings.ReplaceAll(data.Repr(ret.Value("result"))+" "+
			data.Repr(ret.Value("changes"))+" "+ret.Text("comment"), dir, "@")
	}
	for _, c := range []struct {
		test  bool
		words []any
		want  string
	}{
		{true, nil, "None {} Virtualenv @ is set to be created"},
		{false, nil, "True {'new': 'Python 3."},
		{false, nil, "True {} virtualenv exists"},
		{true, nil, "True {} Virtualenv @ is already created"},
		{true, []any{"clear", true}, "None {} Virtualenv @ is set to be cleared"},
		{false, []any{"use_wheel", true},
			"False {} The 'use_wheel' option is only supported in pip between 1.4 and 9.0.3."},
		{false, []any{"pip_pkgs", []any{"pip"}}, "True {} virtualenv exists"},
		{false, []any{"pip_pkgs", []any{"no-such-package"}}, "False {} virtualenv exists\n"},
	} {
		if got := run(c.test, c.words...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v %s\n got %s\nwant %s", c.test, data.Repr(c.words), got, c.want)
		}
	}
	for range 2 {
		site, err := funcs.Invoke(t.Context(), "virtualenv.get_site_packages", []any{dir}, nil)
		if err != nil || !strings.HasSuffix(data.Str(site), "site-packages") {
			t.Errorf("get_site_packages gives %v, %v", site, err)
		}
		path, err := funcs.Invoke(t.Context(), "virtualenv.get_distribution_path", []any{dir, "pip"}, nil)
		if err != nil || strings.TrimRight(data.Str(path), "/") != data.Str(site) {
			t.Errorf("get_distribution_path gives %v, %v", path, err)
		}
		init, err := funcs.Invoke(t.Context(), "virtualenv.get_resource_path",
			[]any{dir, "pip", "__init__.py"}, nil)
		if err != nil || data.Str(init) != data.Str(site)+"/pip/__init__.py" {
			t.Errorf("get_resource_path gives %v, %v", init, err)
		}
		body, err := funcs.Invoke(t.Context(), "virtualenv.get_resource_content",
			[]any{dir, "pip", "__init__.py"}, nil)
		if err != nil || !strings.Contains(data.Str(body), "__version__") {
			t.Errorf("get_resource_content gives %v, %v", body, err)
		}
		if _, err := funcs.Invoke(t.Context(), "virtualenv.get_distribution_path",
			[]any{dir, "pip'); import os"}, nil); loader.KindOf(err) != loader.KindInvocation {
			t.Errorf("code in a name gives %v", err)
		}
		if _, err := funcs.Invoke(t.Context(), "virtualenv.create", []any{dir},
			data.NewMap("venv_bin", python, "python", "x")); err == nil ||
			err.Error() != "The `python`(`--python`) option is not supported by '"+python+"'" {
			t.Errorf("python for venv gives %v", err)
		}
	}
}

func TestVersion(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "virtualenv")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho virtualenv 20.24.5 from /usr/lib\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), venv.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v, err := funcs.Invoke(t.Context(), "virtualenv.virtualenv_ver", []any{bin},
			nil); err != nil || data.Repr(v) != "(20, 24, 5)" {
			t.Errorf("got %s, %v", data.Repr(v), err)
		}
	}
}

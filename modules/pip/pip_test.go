package pip_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
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
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
)

// A host has a virtual environment, and a directory with packages.
type host struct {
	t          *testing.T
	dir, venv  string
	funcs      *loader.Registry
	find, reqs string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, dir: dir, venv: filepath.Join(dir, "venv"), find: filepath.Join(dir, "wheels"),
		reqs: filepath.Join(dir, "reqs.txt")}
	out, err := exec.Command(process.Find("python3"), "-m", "venv", h.venv).CombinedOutput()
	if err != nil {
		need.That(t, "python3 with venv and ensurepip", fmt.Errorf("%w: %s", err, out))
	}
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
	h.wheel("1.0")
	h.wheel("1.1")
	h.wheel("2.0b1")
	if err := os.WriteFile(h.reqs, []byte("demo-pkg==1.1 # why\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if h.funcs, err = loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), pip.Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
}

// wheel builds a package.
func (h *host) wheel(version string) {
	h.t.Helper()
	if err := os.MkdirAll(h.find, 0o755); err != nil {
		h.t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(h.find, "demo_pkg-"+version+"-py3-none-any.whl"))
	if err != nil {
		h.t.Fatal(err)
	}
	z := zip.NewWriter(f)
	info := "demo_pkg-" + version + ".dist-info/"
	for name, body := range map[string]string{
		"demo_pkg.py": "", info + "METADATA": "Metadata-Version: 2.1\nName: demo-pkg\nVersion: " +
			version + "\n", info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "RECORD": "",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, body)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) call(fun string, words ...any) (any, error) {
	return h.funcs.Invoke(h.t.Context(), "pip."+fun, nil,
		data.NewMap(append([]any{"bin_env", h.venv}, words...)...))
}

// has makes a call twice. Each result must be a text that contains want.
func (h *host) has(want, fun string, words ...any) {
	h.t.Helper()
	for range 2 {
		v, err := h.call(fun, words...)
		said := data.Repr(v)
		if err != nil {
			said = "error: " + err.Error()
		}
		if said = strings.ReplaceAll(said, h.dir, "@"); !strings.Contains(said, want) {
			h.t.Errorf("%s %s\n got %s\nwant %s", fun, data.Repr(words), said, want)
		}
	}
}

func TestPip(t *testing.T) {
	need.Time(t, "it makes virtual environments")
	h := newHost(t)
	local := []any{"no_index", true, "find_links", h.find}
	h.has("'", "version")
	h.has("{'retcode': 0, 'stdout': 'No packages to install.'}", "install")
	for _, c := range []struct {
		want  string
		words []any
	}{
		{"error: '@/none' is not a valid URL or path",
			[]any{"pkgs", "demo-pkg", "find_links", h.dir + "/none"}},
		{"error: 'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.",
			[]any{"pkgs", "x", "no_index", true, "index_url", "https://x"}},
		{"error: 'foo' is not a valid URL", []any{"pkgs", "x", "index_url", "foo"}},
		{"error: The exists_action pip option only supports the values s, i, w, and b. 'q' is not valid.", []any{"pkgs", "x", "exists_action", "q"}},
		{"error: 'soon' is not a valid timeout, must be an integer", []any{"pkgs", "x", "timeout", "soon"}},
		{"error: You must specify an egg for this editable", []any{"editable", "git+https://h/r.git"}},
		{"error: env_vars x is not a dictionary", []any{"pkgs", "x", "env_vars", "x"}},
		{"error: Could not find a pip binary in virtualenv @", []any{"pkgs", "x", "bin_env", h.dir}},
		{"error: Access denied to @/none, could not find a pip binary",
			[]any{"pkgs", "x", "bin_env", h.dir + "/none"}},
	} {
		h.has(c.want, "install", c.words...)
	}
	h.has("False", "is_installed", "pkgname", "demo-pkg")
	h.has("'retcode': 0", "install", append(local, "pkgs", "demo-pkg==1.0")...)
	h.has("True", "is_installed", "pkgname", "Demo-Pkg")
	h.has("'demo-pkg==1.0'", "freeze")
	h.has("{'demo-pkg': '1.0'}", "list_freeze_parse", "prefix", "demo")
	if v, err := h.call("list", "prefix", "demo"); err != nil || v.(*data.Map).Len() != 1 {
		t.Errorf("list gives %s, %v", data.Repr(v), err)
	}
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", h.find)
	h.has("1.1 [wheel]'", "list_upgrades")
	h.has("True", "upgrade_available", "pkg", name(t, h))
	h.has("['1.0', '1.1']", "list_all_versions", "pkg", "demo-pkg")
	h.has("['1.0', '1.1']", "list_all_versions", "pkg", "demo-pkg", "include_beta", true)
	h.has("None", "list_all_versions", "pkg", "no-such-pkg")
	if v, err := h.call("upgrade"); err != nil ||
		!strings.Contains(data.Repr(v), "{'old': '1.0', 'new': '1.1'}") {
		t.Errorf("upgrade gives %s, %v", data.Repr(v), err)
	}
	h.has("{'changes': {}, 'result': True", "upgrade")
	h.has("'retcode': 0", "install", append(local, "requirements", h.reqs)...)
	h.has("'retcode': 0", "uninstall", "pkgs", "demo-pkg")
	h.has("False", "is_installed", "pkgname", "demo-pkg")
}

// name returns the name that pip, depending on its version, lists for the package.
func name(t *testing.T, h *host) string {
	t.Helper()
	v, err := h.call("list", "prefix", "demo")
	if err != nil {
		t.Fatal(err)
	}
	key, _ := v.(*data.Map).At(0)
	return data.Str(key)
}

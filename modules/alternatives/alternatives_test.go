package alternatives

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

type runArgs struct {
	Cmd    []any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// A host replaces the module cmd and returns canned output.
type host struct {
	root   string
	grains *data.Map
	answer *data.Map
	ran    []any // arguments of the last run
	quiet  any
}

func (h *host) plugin() loader.Plugin {
	return loader.Plugin{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("run_all",
			func(_ context.Context, a runArgs) (any, error) {
				h.ran, h.quiet = a.Cmd, a.Kwargs.Has("ignore_retcode")
				return h.answer, nil
			})}}, nil
	}}
}

func (h *host) registry(t *testing.T) *loader.Registry {
	t.Helper()
	h.root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(h.root, "etc/alternatives"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: h.root, Grains: func() *data.Map { return h.grains }}
	r, err := loader.NewRegistry(env, []loader.Plugin{h.plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/calls.json has the commands that Salt 3006.0 runs, and its results for their output.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{}
	r := h.registry(t)
	for _, c := range v.([]any) {
		c := c.(*data.Map)
		h.grains, h.answer = data.NewMap("os_family", c.Value("os_family")), c.Value("answer").(*data.Map)
		for range 2 {
			got, err := r.Invoke(t.Context(), c.Text("fun"), c.Value("args").([]any), nil)
			if err != nil || !data.Equal(got, c.Value("value")) ||
				!data.Equal(h.ran, c.Value("ran")) || h.quiet != c.Value("quiet") {
				t.Errorf("%s\ngives %s, %v by %s, %v", data.Repr(c), data.Repr(got), err,
					data.Repr(h.ran), h.quiet)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	h := &host{grains: data.NewMap("os_family", "Suse")}
	r := h.registry(t)
	if err := os.Symlink("/usr/bin/vim.basic", filepath.Join(h.root, "etc/alternatives/editor")); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(h.root, "var/lib/rpm/alternatives")
	if err := os.MkdirAll(records, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"editor": "auto\n/usr/bin/editor\n\n", "short": "auto\n"} {
		if err := os.WriteFile(filepath.Join(records, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		fun  string
		args []any
		want any
	}{
		{"show_current", []any{"editor"}, "/usr/bin/vim.basic"},
		{"show_current", []any{"pager"}, false},
		{"check_installed", []any{"editor", "/usr/bin/vim.basic"}, true},
		{"check_installed", []any{"editor", "/bin/ed"}, false},
		{"check_installed", []any{"pager", ""}, false},
		{"show_link", []any{"editor"}, "/usr/bin/editor"},
		{"show_link", []any{"short"}, false},
		{"show_link", []any{"pager"}, false},
	} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "alternatives."+c.fun, c.args, nil); err != nil ||
				got != c.want {
				t.Errorf("%s %v returned %v, %v, want %v", c.fun, c.args, got, err, c.want)
			}
		}
	}
}

// The module is not available without the directory.
func TestNoDirectory(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Root: t.TempDir()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "alternatives.auto", []any{"editor"}, nil); err == nil {
		t.Errorf("it returned %v", got)
	}
}

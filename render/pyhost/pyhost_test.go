package pyhost_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/pyhost"
)

// newEngine returns an engine with the renderers in Python, files of the file server, and a state
// module of the name test.
func newEngine(t *testing.T, files map[string]string) *render.Engine {
	t.Helper()
	need.Program(t, "python3")
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	host := python.NewHost(python.Options{CacheDir: t.TempDir(), Log: log,
		Directories: func() map[string][]string { return nil }})
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	type noArgs struct{}
	nothing := func(context.Context, noArgs) (any, error) { return nil, nil }
	registry := func(name string, funcs ...string) *loader.Registry {
		r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Log: log}, []loader.Plugin{{
			Name: name, New: func(*loader.Env) (*loader.Module, error) {
				m := &loader.Module{}
				for _, fun := range funcs {
					m.Funcs = append(m.Funcs, loader.F(fun, nothing))
				}
				return m, nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "m1"), Log: log,
		Registries: map[string]*loader.Registry{"states": registry("test", "nop")}}, []loader.Plugin{
		named("pillar", "get"), named("grains", "get"), named("mine", "get"), named("config", "get")})
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: functions.Env(), Files: render.Roots{"base": {root}},
		Renderers: pyhost.Renderers(host)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// named returns a plug-in with one function, which returns its argument.
func named(name, fun string) loader.Plugin {
	type args struct{ Key any }
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F(fun, func(_ context.Context, a args) (any, error) { return a.Key, nil })}}, nil
	}}
}

func TestPyobjectsImportsFilesOfTheEngine(t *testing.T) {
	e := newEngine(t, map[string]string{"lib.sls": "NAME = 'made'\n"})
	got, err := e.Render(t.Context(), render.Input{SaltEnv: "base", SLS: "web",
		Text: "#!pyobjects\nfrom salt://lib.sls import NAME\nTest.nop(NAME, p=pillar('key'), s=__sls__)\n"})
	want := "{'made': {'test.nop': [{'p': 'key'}, {'s': 'web'}]}}"
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s, %v, want %s", data.Repr(got), err, want)
	}
}

func TestFaultsInPython(t *testing.T) {
	e := newEngine(t, nil)
	for text, want := range map[string]string{
		"Test.none('a')":                "The function 'none' does not exist in the StateFactory for 'test'\nTraceback",
		"from salt://none.sls import X": "Could not find the file 'salt://none.sls'\nTraceback",
		"from salt.exceptions import SaltRenderError as E\nraise E('own words')": "own words",
	} {
		_, err := e.Render(t.Context(), render.Input{SaltEnv: "base", SLS: "web", Text: "#!pyobjects\n" + text})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
		if raised := (*render.Error)(nil); errors.As(err, &raised) != (want == "own words") {
			t.Errorf("%s: error of type %T", text, err)
		}
	}
	if _, err := e.Template(t.Context(), "pyobjects", render.Input{Text: "x"}); err == nil ||
		!strings.Contains(err.Error(), "returns data, not text") {
		t.Errorf("a file template by pyobjects: error %v", err)
	}
}

package py_test

import (
	"context"
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
	"github.com/brineproject/brine/render/py"
	"github.com/brineproject/brine/render/standard"
)

// A bench is an engine with Python and the users' renderers in a directory.
type bench struct {
	dir    string
	engine *render.Engine
	users  *loader.Registry
	log    *strings.Builder
}

func newBench(t *testing.T, users map[string]string) *bench {
	t.Helper()
	need.Program(t, "python3")
	b := &bench{dir: t.TempDir(), log: &strings.Builder{}}
	for name, text := range users {
		b.write(t, "renderers/"+name+".py", text)
	}
	log := logrus.New()
	log.SetOutput(b.log)
	host := python.NewHost(python.Options{CacheDir: t.TempDir(), Log: log,
		Directories: func() map[string][]string {
			return map[string][]string{"renderers": {filepath.Join(b.dir, "renderers")}}
		}})
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	type echoArgs struct{ Value any }
	modules := []loader.Plugin{{Name: "test", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("echo",
			func(_ context.Context, a echoArgs) (any, error) { return a.Value, nil })}}, nil
	}}}
	env := &loader.Env{Opts: data.NewMap("id", "m1"), Log: log,
		Grains:     func() *data.Map { return data.NewMap("kernel", "Linux") },
		Pillar:     func() *data.Map { return data.NewMap("k", "v") },
		Registries: map[string]*loader.Registry{}}
	functions, err := loader.NewRegistry(env, modules)
	if err != nil {
		t.Fatal(err)
	}
	if b.users, err = loader.NewRegistry(functions.Env(), nil); err != nil {
		t.Fatal(err)
	}
	brought := render.Brought{Renderers: standard.Renderers()}
	files := host.Files("renderers", functions.Env(), nil)
	files.Rendering = py.Rendering{Brought: brought}
	b.users.Extend(files)
	env.Registries["renderers"] = b.users
	b.engine, err = render.New(render.Options{Env: functions.Env(),
		Renderers: append(brought.Renderers, py.New(host, py.Rendering{Brought: brought}))})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// render renders an SLS and returns the result as Python prints it, or the error.
func (b *bench) render(t *testing.T, text string, vars map[string]any) string {
	t.Helper()
	v, err := b.engine.Render(t.Context(), render.Input{Text: text, Path: b.write(t, "one.sls", text),
		SaltEnv: "base", SLS: "one", Vars: vars})
	if err != nil {
		return "error: " + err.Error()
	}
	return data.Repr(v)
}

// shout replaces a word in text, which may come as a stream.
const shout = `
def render(data, saltenv="base", sls="", argline="", **kwargs):
    if not isinstance(data, str):
        data = data.read()
    return data.replace("LOUD", "QUIET" + argline.strip().upper())
`

func TestUsersRenderers(t *testing.T) {
	b := newBench(t, map[string]string{
		"shout": shout,
		"stream": `
import io

def render(source, saltenv="base", sls="", **kwargs):
    kind = "text" if isinstance(source, str) else "stream"
    body = source if isinstance(source, str) else source.read()
    stream = io.StringIO(body + kind + "\n")
    stream.read()
    return stream
`,
		"about": `
def render(source, saltenv="base", sls="", argline="", tmplpath=None, context=None, **kws):
    return {"saltenv": saltenv, "sls": sls, "path": tmplpath.rsplit("/", 1)[-1], "context": context,
            "more": sorted(kws), "x": kws.get("x"), "grain": __grains__["kernel"], "pillar": __pillar__["k"],
            "id": __opts__["id"], "echo": __salt__["test.echo"]("e")}
`,
		"chain": `
def render(source, saltenv="base", sls="", renderers=None, **kws):
    text = renderers["jinja"](source, saltenv, sls, y=2).read()
    text = renderers["shout"](text, argline="a")
    return dict(renderers["yaml"](text), none="nosuch" in renderers)
`,
		"json": `
def render(source, *args, **kws):
    return {"own": source.read()}
`,
		"other": `
__virtualname__ = "yaml"

def __virtual__():
    return __virtualname__

def render(source, *args, **kws):
    return {"own": True}
`,
		"bad": `
from salt.exceptions import SaltRenderError

def render(source, *args, **kws):
    if "say" in source.read():
        raise SaltRenderError("please set k")
    return {}[1]
`,
	})
	for _, tt := range []struct{ text, want string }{
		{"#!shout|yaml\na: LOUD\n", "{'a': 'QUIET'}"},
		{"#!jinja|shout abc|yaml\na: LOUD {{ 1 + 1 }}\n", "{'a': 'QUIETABC 2'}"},
		{"#!stream|stream\n", `'#!stream|stream\nstream\nstream\n'`},
		{"#!jinja|stream\nx\n", `'#!jinja|stream\nx\nstream\n'`},
		{"#!shout|stream\nx\n", `'#!shout|stream\nx\ntext\n'`},
		{"#!chain\na: LOUD {{ y }}\n", "{'a': 'QUIETA 2', 'none': False}"},
		{"#!json\n{}\n", `{'own': '#!json\n{}\n'}`},
		{"#!yaml\na: 1\n", "{'a': 1}"},
		{"#!bad\nsay\n", "error: please set k"},
		{"#!bad\n", "error: 1"},
		{"#!about\n", "{'saltenv': 'base', 'sls': 'one', 'path': 'one.sls', 'context': None, 'more': ['renderers', 'x'], " +
			"'x': 1, 'grain': 'Linux', 'pillar': 'v', 'id': 'm1', 'echo': 'e'}"},
	} {
		for range 2 {
			if got := b.render(t, tt.text, map[string]any{"x": int64(1)}); got != tt.want {
				t.Errorf("%q\ngot  %s\nwant %s", tt.text, got, tt.want)
			}
		}
	}
	got := b.render(t, "#!nosuch|yaml\na: 1\n", nil)
	if !strings.HasPrefix(got, `error: The renderer "nosuch"`) ||
		!strings.Contains(b.log.String(), `The renderer \"nosuch|yaml\" is not available`) {
		t.Errorf("an unknown renderer: %s, log %s", got, b.log)
	}
}

// TestUsersRendererComesLater adds a renderer after its name was looked for.
func TestUsersRendererComesLater(t *testing.T) {
	b := newBench(t, nil)
	if got := b.render(t, "#!shout|yaml\na: LOUD\n", nil); !strings.HasPrefix(got, "error: ") {
		t.Fatal(got)
	}
	b.write(t, "renderers/shout.py", shout)
	b.engine.Reload()
	if got := b.render(t, "#!shout|yaml\na: LOUD\n", nil); got != "{'a': 'QUIET'}" {
		t.Error(got)
	}
}

func TestPy(t *testing.T) {
	b := newBench(t, nil)
	for _, tt := range []struct{ text, want string }{
		{"#!py\ndef run():\n    return {'a': [saltenv, sls, __env__, __sls__, grains['kernel'], __pillar__['k'], salt['test.echo'](1), opts['id']]}\n",
			"{'a': ['base', 'one', 'base', 'one', 'Linux', 'v', 1, 'm1']}"},
		{"#!py\ndef run():\n    return tag + data['x']\n", "'tx'"},
		{"#!jinja|py\ndef run():\n    return '{{ 1 }}'\n", "'{{ 1 }}'"},
		{"#!py|yaml\ndef run():\n    return 'a: [1]'\n", "{'a': [1]}"},
		{"#!yaml|py\ndef run():\n    return 1\n", "1"},
		{"#!py\nX = 1\n", "AttributeError: module 'one' has no attribute 'run'\n"},
		{"#!py\ndef run():\n    raise ValueError('in run')\n", "ValueError: in run\n"},
		{"#!py\ndef run(:\n    pass\n", "error: invalid syntax (one.sls, line 2)"},
		{"#!py\nraise KeyError('top')\n", "error: 'top'"},
		{"#!py\ndef run():\n    return [n for n in ('__states__', '__context__', '__utils__', 'tpldir', 'slspath', 'context', 'argline', 'proxy') if n in globals()]\n",
			"[]"},
		{"#!py\nimport salt.utils.yaml\ndef run():\n    return salt.utils.yaml.safe_load('1')\n", "AttributeError: utils\n"},
	} {
		got := b.render(t, tt.text, map[string]any{"tag": "t", "data": data.NewMap("x", "x")})
		if rest, ok := strings.CutPrefix(got, "error: Traceback (most recent call last):\n"); ok {
			got = rest[strings.LastIndex(strings.TrimSuffix(rest, "\n"), "\n")+1:]
		}
		if got != tt.want {
			t.Errorf("%q\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestPyFileTemplate checks that a file template finds the arguments of the state as globals, and its
// variables in the dictionary context alone.
func TestPyFileTemplate(t *testing.T) {
	b := newBench(t, nil)
	text := `def run():
    return "|".join([context["who"], name, saltenv, __env__, __grains__["kernel"], str("who" in globals()), str("sls" in globals())])
`
	in := render.Input{Text: text, Path: b.write(t, "t.py", text), SaltEnv: "base",
		Vars: map[string]any{"name": "/x"}, Context: map[string]any{"who": "you"}}
	for range 2 {
		got, err := b.engine.Template(t.Context(), "py", in)
		if want := "you|/x|base|base|Linux|False|False"; err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	in.Text = "{{ who }} {{ name }}"
	if got, err := b.engine.Template(t.Context(), "jinja", in); err != nil || got != "you /x" {
		t.Errorf("jinja: %q, %v", got, err)
	}
}

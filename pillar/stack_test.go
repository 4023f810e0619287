package pillar_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	testmodule "github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sources/saltclass"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/yaml"
)

// wantStack is the result of salt-call of Salt 3006.0 for testdata/stack.
const wantStack = `{"own": "mine", "id": "web1", "os": "Debian", "list": ["z"], 
"map": {"x": 1, "y": {"z": 1, "w": 2}}, "kept": {"c": 3}, "gone": {"b": 2}, "swap": {"a": [2, 1], "s": "old", "m": {"q": 1, "r": 3}, "n": {"v": 1}}, 
"kinds": {"text": "1", "list": {"a": 1}, "none": null, "bool": 1}, "drop": [1, 3], "first": [0, 1], "whole": [9], 
"top": 2, "nested": {"deep": {"l": [0, 1, {"__": "kept"}]}}, "seen": 2, "imported": "from web1", 
"file": "web.yml", "salt": "hello", "pillar": "mine", "minion": true, "db": "None"}`

// sources returns the external pillars of package pillar, and saltclass.
func sources() []pillar.Source { return append(pillar.Sources(), saltclass.Source{}) }

// withFunctions makes engines with the functions that templates and external pillars call.
func withFunctions(s pillar.Scope) (*render.Engine, error) {
	env := &loader.Env{Opts: s.Opts, Grains: func() *data.Map { return s.Grains },
		Pillar: func() *data.Map { return s.Pillar }}
	reg, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), testmodule.Plugin()})
	if err != nil {
		return nil, err
	}
	return render.New(render.Options{Env: reg.Env(), Files: s.Files, Renderers: stdrender.Renderers()})
}

// externals compiles the pillar of web1, with own: mine, for these entries of ext_pillar.
func externals(t testing.TB, grains *data.Map, entries ...any) *data.Map {
	t.Helper()
	roots := write(t, t.TempDir(),
		data.NewMap("base", data.NewMap("top.sls", "base: {'*': [own]}", "own.sls", "own: mine")))
	opts := options(roots, data.NewMap("ext_pillar", entries))
	c := compiler(t, pillar.Options{Opts: opts, Engine: withFunctions, Sources: sources()})
	return compile(t, c, pillar.Request{ID: "web1", Grains: grains})
}

func TestStackIsSalts(t *testing.T) {
	dir, err := filepath.Abs("testdata/stack")
	if err != nil {
		t.Fatal(err)
	}
	grains := data.NewMap("id", "web1", "os", "Debian", "roles", []any{"web", "none"}, "dc", "ams1")
	got := externals(t, grains, data.NewMap("stack", filepath.Join(dir, "main.cfg")),
		data.NewMap("stack", data.NewMap(
			"grains:dc", data.NewMap("ams1", filepath.Join(dir, "yaml.cfg"), "other", "/nope"),
			"opts:id", data.NewMap("web1", []any{"/nothing.cfg"}),
			"pillar:id", data.NewMap("web1", []any{}))))
	want, err := yaml.Load([]byte(wantStack), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data.Repr(got) != data.Repr(want) {
		t.Errorf("got  %s\nwant %s", data.Repr(got), data.Repr(want))
	}
}

func TestStackReportsErrors(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"render.cfg": "secret.yml\n", "secret.yml": "password: hunter2\n{{ nothing.at.all }}\n",
		"parse.cfg": "broken.yml\n", "broken.yml": "password: [hunter2\n",
		"strategy.cfg": "strategy.yml\n", "strategy.yml": "a: 1\n__: merge-best\n",
		"list.cfg": "list.yml\n", "list.yml": "l: [1]\n", "list2.cfg": "list.yml\nlist2.yml\n",
		"list2.yml": "l: [{__: 7}, 1]\n", "outside.cfg": "../*/secret.yml\n", "number.cfg": "- 1\n",
		"own.cfg": "{{ nothing.at.all }} hunter2\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const unknown = `Unknown strategy "%s", should be one of ('overwrite', 'merge-first', 'merge-last', 'remove')`
	for _, c := range []struct {
		argument any
		want     string
	}{
		{filepath.Join(dir, "render.cfg"), "Stack pillar template render error in " + dir +
			"/secret.yml: please see the master's log"},
		{filepath.Join(dir, "parse.cfg"), "Stack pillar yaml parsing error in " + dir +
			"/broken.yml: please see the master's log"},
		{filepath.Join(dir, "strategy.cfg"), strings.ReplaceAll(unknown, "%s", "merge-best")},
		{filepath.Join(dir, "list2.cfg"), strings.ReplaceAll(unknown, "%s", "7")},
		{filepath.Join(dir, "outside.cfg"), "Stack pillar template render error in " + dir +
			"/secret.yml: please see the master's log"},
		{filepath.Join(dir, "number.cfg"), "the list " + dir +
			"/number.cfg has an entry of type int, which is not a path"},
		{filepath.Join(dir, "own.cfg"), "the list " + dir +
			"/own.cfg does not render: please see the master's log"},
		{data.NewMap("fact:os", data.NewMap()),
			`Unknown traverse option "fact", should be one of dict_keys(['pillar', 'grains', 'opts'])`},
		{data.NewMap("grains", data.NewMap()), "not enough values to unpack (expected 2, got 1)"},
		{data.NewMap("grains:l", data.NewMap("a", "b")), "unhashable type: 'list'"},
		{data.NewMap("grains:l", "b"), "the choices of grains:l are no dictionary"},
	} {
		got := externals(t, data.NewMap("l", []any{"a"}), data.NewMap("stack", c.argument))
		errs, _ := got.Value("_errors").([]any)
		if len(errs) != 1 || errs[0] != "Failed to load ext_pillar stack: "+c.want {
			t.Errorf("%s\ngot  %s\nwant %s", data.Repr(c.argument), data.Repr(errs), c.want)
		}
	}
}

func TestStackKnowsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dev.cfg"), []byte("dev.yml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dev.yml"), []byte("in: {{ pillarenv }}"), 0o644); err != nil {
		t.Fatal(err)
	}
	choices := data.NewMap("opts:pillarenv", data.NewMap("__env__", filepath.Join(dir, "__env__.cfg")))
	opts := options(write(t, t.TempDir(), data.NewMap()),
		data.NewMap("ext_pillar", []any{data.NewMap("stack", choices)}))
	c := compiler(t, pillar.Options{Opts: opts, Engine: withFunctions, Sources: sources()})
	same(t, compile(t, c, pillar.Request{ID: "web1", PillarEnv: "dev"}), "in: dev")
	same(t, compile(t, c, pillar.Request{ID: "web1", PillarEnv: "prod"}), "{}")
}

func TestEntriesAreCheckedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		option any
		want   string
	}{
		{nil, ""},
		{[]any{data.NewMap("stack", "/a"), data.NewMap("stack", []any{"/a", "/b"}),
			data.NewMap("cmd_yaml", "true")}, ""},
		{[]any{data.NewMap("stack", data.NewMap("grains:os", data.NewMap("Debian", "/a")))}, ""},
		{data.NewMap("stack", "/a"), "ext_pillar: expected a list of external pillars"},
		{[]any{"stack"}, "ext_pillar: entry 1: expected NAME: ARGUMENTS"},
		{[]any{data.NewMap("cmd_yaml", "true"), data.NewMap("stick", "/a")},
			"ext_pillar: entry 2, stick: no such external pillar exists"},
		{[]any{data.NewMap("saltclass", []any{data.NewMap("path", "/a")}),
			data.NewMap("saltclass", data.NewMap("path", "/a"))}, ""},
		{[]any{data.NewMap("saltclass", []any{"/a"})},
			"ext_pillar: entry 1, saltclass: expected path: DIRECTORY, not '/a'"},
		{[]any{data.NewMap("saltclass", []any{})}, "ext_pillar: entry 1, saltclass: path is not set"},
		{[]any{data.NewMap("stack", int64(1))},
			"ext_pillar: entry 1, stack: expected the path of a file, not 1"},
		{[]any{data.NewMap("stack", data.NewMap("os", "/a"))},
			"ext_pillar: entry 1, stack: expected pillar:KEY, grains:KEY or opts:KEY, not 'os'"},
		{[]any{data.NewMap("stack", data.NewMap("grains:os", "/a"))},
			"ext_pillar: entry 1, stack: grains:os: expected a dictionary of values to files"},
	} {
		err := pillar.Check(data.NewMap("ext_pillar", c.option), sources())
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", data.Repr(c.option), err, c.want)
		}
	}
}

func FuzzStack(f *testing.F) {
	f.Add("f.yml\n", "a: {__: remove, b: 1}\nl: [{__: overwrite}, 1]\n")
	f.Add("- f.yml\n- '*.yml'\n", "a: &x [1]\nb: *x\n__: overwrite\n")
	f.Fuzz(func(t *testing.T, config, text string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"c.cfg": config, "f.yml": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		e, err := withFunctions(pillar.Scope{Opts: data.NewMap(), Grains: data.NewMap(),
			Pillar: data.NewMap()})
		if err != nil {
			t.Fatal(err)
		}
		q := pillar.Query{ID: "web1", Argument: filepath.Join(dir, "c.cfg"), Grains: data.NewMap(),
			Pillar: data.NewMap(), Opts: data.NewMap(), Engine: e, Log: e.Env().Log}
		if got, err := (pillar.Stack{}).Pillar(t.Context(), q); err == nil && got.Has("__") {
			t.Errorf("got %s", data.Repr(got))
		}
	})
}

func TestSaltClassOverThePillar(t *testing.T) {
	dir, err := filepath.Abs("saltclass/testdata/tree")
	if err != nil {
		t.Fatal(err)
	}
	got := externals(t, data.NewMap("os", "Debian"),
		data.NewMap("saltclass", []any{data.NewMap("path", dir)}))
	deep, _ := got.Value("deep").(*data.Map) // of classes that do not count but for this
	if data.Repr(deep) != "{'one': 1, 'two': 2}" || got.Has("_errors") || got.Text("esc") != "${common:x}" {
		t.Error(data.Repr(got))
	}
}

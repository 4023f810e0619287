package pillar

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// memory is the pillar in the minion's memory; a fresh one holds the query instead.
const memory = "{a: {b: 1, l: [x, {k: v}]}, '1': one, 2: two, n: null, role: [foo, web]}"

func load(t *testing.T, text string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v.(*data.Map)
}

// shout is a renderer that "decrypts" by converting to upper case.
type shout struct{}

func (shout) Name() string { return "shout" }

func (shout) Render(_ context.Context, s *render.Step) (any, error) {
	m, ok := s.Data.(*data.Map)
	if !ok {
		return nil, errors.New("no dictionary")
	}
	out := data.NewMap()
	for k, v := range m.All() {
		out.Set(k, strings.ToUpper(data.Str(v)))
	}
	return out, nil
}

func registry(t *testing.T, opts string) (*loader.Registry, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	log := logrus.New()
	log.SetOutput(said)
	p := load(t, memory)
	env := &loader.Env{Opts: load(t, opts), Pillar: func() *data.Map { return p }, Log: log}
	env.Host.CompilePillar = func(_ context.Context, q loader.PillarQuery) (*data.Map, error) {
		if q.PillarEnv == "broken" {
			return nil, errors.New("no master")
		}
		return data.NewMap("env", q.SaltEnv+"/"+q.PillarEnv, "over", q.Override, "ext", q.External), nil
	}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{Plugin(render.Brought{Renderers: []render.Renderer{shout{}}})})
	if err != nil {
		t.Fatal(err)
	}
	return r, said
}

// call runs a function as an operator types it and returns the result in Python's form.
func call(t *testing.T, r *loader.Registry, line string) string {
	t.Helper()
	words := strings.Split(line, " | ")
	return data.Repr(r.Call(t.Context(), "pillar."+words[0], loader.WireArgs(words[1:]),
		loader.CallOptions{}).Value)
}

// The results are those of Salt 3006.0. A fresh pillar is recognised by the query that it holds.
var calls = map[string]string{
	"get | a:b": "1", "get | a:c": "''", "get | a:b:c | d": "'d'",
	"get | a:c | default=None": "None", "get | 2": "'two'", "get | 1": "''",
	"get | a:l:k": "'v'", "get | a!l!0 | delimiter=!": "'x'", "fetch | a:b": "1", "get | n": "None",
	"get | a:l | default=[q, x] | merge=True":                           "['q', 'x', {'k': 'v'}]",
	"get | a | default={b: 0, z: 9} | merge=True":                       "{'b': 1, 'z': 9, 'l': ['x', {'k': 'v'}]}",
	"get | a | default={l: [y]} | merge=True":                           "{'l': ['x', {'k': 'v'}], 'b': 1}",
	"get | a | default={l: [y]} | merge=True | merge_nested_lists=True": "{'l': ['y', 'x', {'k': 'v'}], 'b': 1}",
	"get | zz | default={z: 9} | merge=True":                            "{'z': 9}",
	"get | zz | default=[9] | merge=True":                               "[9]",
	"get | a:b | default={z: 9} | merge=True":                           "1",
	"get | a:b | default=[9] | merge=True":                              "1",
	"get | a:b | default=9 | merge=True":                                "1",
	"get | env | pillarenv=dev":                                         "'/dev'",
	"get | env | saltenv=dev":                                           "'/opt'",
	"item | a:b | n | zz | default=D":                                   "{'a:b': 1, 'n': None, 'zz': 'D'}",
	"item | a!b | delimiter=!":                                          "{'a!b': 1}",
	"item | env | pillarenv=dev":                                        "{'env': '/dev'}",
	"item":                                                              "{}",
	"items":                                                             "{'env': '/opt', 'over': {}, 'ext': {}}",
	"data":                                                              "{'env': '/opt', 'over': {}, 'ext': {}}",
	"items | pillarenv=dev | pillar={q: 1}":                             "{'env': '/dev', 'over': {'q': 1}, 'ext': {}}",
	"items | pillar={q: one} | pillar_enc=shout":                        "{'env': '/opt', 'over': {'q': 'ONE'}, 'ext': {}}",
	"items | pillar={q: 1} | pillar_enc=foo":                            `"ERROR: Failed to decrypt pillar override: 'foo' is not a valid decryption renderer. Valid choices are: gpg, shout"`,
	"items | pillar={q: 1} | pillar_enc=gpg":                            `"ERROR: Failed to decrypt pillar override: Decryption renderer 'gpg' is not available"`,
	"items | pillar=x":                                                  "{'env': '/opt', 'over': {}, 'ext': {}}",
	"items | a:b | nn":                                                  "{'a:b': 1, 'nn': ''}",
	"items | pillarenv=broken":                                          "'ERROR: Exception getting pillar: no master'",
	"ls":                                                                "['env', 'over', 'ext']",
	"ls | a":                                                            "['a']",
	"obfuscate":                                                         "{'env': '<str>', 'over': {}, 'ext': {}}",
	"obfuscate | a":                                                     "{'a': {'b': '<int>', 'l': ['<str>', {'k': '<str>'}]}}",
	"raw":                                                               "{'a': {'b': 1, 'l': ['x', {'k': 'v'}]}, '1': 'one', 2: 'two', 'n': None, 'role': ['foo', 'web']}",
	"raw | n":                                                           "None",
	"raw | zz":                                                          "{}",
	"raw | key=role":                                                    "['foo', 'web']",
	"ext | {libvirt: _}":                                                "{'env': 'base/opt', 'over': {}, 'ext': {'libvirt': '_'}}",
	"ext | '{libvirt: _}' | pillar={a: 1}":                              "{'env': 'base/opt', 'over': {'a': 1}, 'ext': {'libvirt': '_'}}",
	"ext | foo":                                                         "{'env': 'base/opt', 'over': {}, 'ext': {}}",
	"keys | a":                                                          "['b', 'l']",
	"filter_by | {web: 1, foo: 2} | role":                               "2",
	"filter_by | {z: 1, default: 3} | nokey":                            "3",
	"filter_by | {w*: {a: 1}, base: {b: 2}} | role | base=base": "{'b': 2, 'a': 1}",
	"file_exists | p.sls":                "True",
	"file_exists | p.sls | saltenv=dev":  "False",
	"file_exists | p.sls | saltenv=base": "True",
	"file_exists | sub":                  "False",
}

func TestCalls(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "p.sls"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "sub"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r, _ := registry(t, "{saltenv: base, pillarenv: opt, decrypt_pillar_renderers: [gpg, shout], pillar_roots: {base: ["+dir+"]}}")
	for range 2 {
		for line, want := range calls {
			if got := call(t, r, line); got != want {
				t.Errorf("pillar.%s\ngot  %s\nwant %s", line, got, want)
			}
		}
	}
}

func TestSaltErrors(t *testing.T) {
	r, _ := registry(t, "{pillar_raise_on_missing: true}")
	for line, want := range map[string]string{
		"get | a:c":            `KeyError: 'Pillar key not found: a:c'`,
		"keys | a:c":           `KeyError: 'Pillar key not found: a:c'`,
		"keys | a:b":           `ValueError: Pillar value in key a:b is not a dict`,
		"get | a | delimiter=": `ValueError: empty separator`,
	} {
		if got := call(t, r, line); !strings.Contains(got,
			"The minion function caused an exception: Traceback") ||
			!strings.Contains(strings.ReplaceAll(got, `\'`, `'`), want) {
			t.Errorf("pillar.%s: %s, want %s", line, got, want)
		}
	}
	if got := call(t, r, "get | a:c | d"); got != "'d'" {
		t.Errorf("a default with pillar_raise_on_missing: %s", got)
	}
	if got := call(t, r, "file_exists | x"); got != "'ERROR: No pillar_roots found. Are you running this on the master?'" {
		t.Errorf("file_exists without pillar_roots: %s", got)
	}
}

func TestOptionsAndLog(t *testing.T) {
	r, said := registry(t, "{saltenv: dev, pillarenv_from_saltenv: true, pillar_merge_lists: true}")
	for line, want := range map[string]string{
		"items":              "{'env': '/dev', 'over': {}, 'ext': {}}",
		"items | saltenv=qa": "{'env': '/qa', 'over': {}, 'ext': {}}",
		"get | a | default={l: [y]} | merge=True":                            "{'l': ['y', 'x', {'k': 'v'}], 'b': 1}",
		"get | a | default={l: [y]} | merge=True | merge_nested_lists=False": "{'l': ['x', {'k': 'v'}], 'b': 1}",
	} {
		if got := call(t, r, line); got != want {
			t.Errorf("pillar.%s: %s, want %s", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"items | pillar=x": "Pillar data must be a dictionary",
		"ext | foo":        "On-demand pillar foo is not formatted as a dictionary",
		"get | a:b | default={z: 9} | merge=True": "pillar.get: Default ({'z': 9}) is a dict, but the returned pillar value (1) is of type 'int'. Merge will be skipped.",
		"get | a:b | default=[z] | merge=True":    "pillar.get: Default (['z']) is a list, but the returned pillar value (1) is of type 'int'. Merge will be skipped.",
		"get | a:b | default=z | merge=True":      "pillar.get: Default (z) is of type 'str', must be a dict or list to merge. Merge will be skipped.",
	} {
		said.Reset()
		if call(t, r, line); !strings.Contains(said.String(), want) {
			t.Errorf("pillar.%s says %q", line, said.String())
		}
	}
}

// TestValuesAreCopies checks that a template which changes a value does not change the minion's
// pillar.
func TestValuesAreCopies(t *testing.T) {
	r, _ := registry(t, "{}")
	for _, fun := range []string{"get", "item", "raw"} {
		v, err := r.Invoke(t.Context(), "pillar."+fun, []any{"a"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := v.(*data.Map)
		if fun == "item" {
			m = m.Value("a").(*data.Map)
		}
		m.Set("b", int64(2))
		if got := call(t, r, "get | a:b"); got != "1" {
			t.Errorf("after a change of what pillar.%s gave: %s", fun, got)
		}
	}
}

func TestNoPillarCompiler(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{Plugin(render.Brought{})})
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, r, "items"); got != "'ERROR: a fresh pillar cannot be compiled here'" {
		t.Errorf("pillar.items: %s", got)
	}
}

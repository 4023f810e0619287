package saltjinja

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// TestOrderOfDicts checks that values read by the renderer yaml, such as the pillar of a minion
// without a master, are OrderedDicts in Python, whose order YAML keeps. Other dicts are sorted.
func TestOrderOfDicts(t *testing.T) {
	env := minionEngine(t, render.Files(nil)).Env()
	read, err := yaml.Load([]byte("z: {d: 1, c: [{b: 1, a: 2}]}\na: 1\n"), yaml.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	env.Pillar = func() *data.Map { return data.NewMap("read", read, "got", data.NewMap("z", int64(1), "a", int64(2))) }
	reg, err := loader.NewRegistry(&loader.Env{Opts: env.Opts, Grains: env.Grains,
		Pillar: env.Pillar}, []loader.Plugin{testPlugin()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(), Renderers: []render.Renderer{New(), render.YAML{}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{{ pillar | yaml }}`:                                                             "{got: {a: 2, z: 1}, read: {z: {d: 1, c: [{b: 1, a: 2}]}, a: 1}}",
		`{{ pillar.read.z.copy() | yaml }}`:                                               "{d: 1, c: [{b: 1, a: 2}]}",
		`{{ dict(pillar.read.z.c[0]) | yaml }}`:                                           "{a: 2, b: 1}",
		`{% set d = pillar.read.z.c[0] %}{% do d.update({"0": 1}) %}{{ d | yaml }}`:       "{b: 1, a: 2, '0': 1}",
		`{{ salt["test.arg"](pillar.read.z.c[0]).args[0] | yaml }}`:                       "{b: 1, a: 2}",
		`{{ salt["test.put"]({"y": 1, "x": 2}, {"r": pillar.read.z.c[0]}) | yaml }}`:      "{r: {b: 1, a: 2}, x: 2, y: 1}",
		`{{ pillar.read | json }}`:                                                        `{"a": 1, "z": {"c": [{"a": 2, "b": 1}], "d": 1}}`,
		`{% load_yaml as y %}{z: 1, a: 2}{% endload %}{{ y | yaml }} {{ pillar.read.z }}`: "{a: 2, z: 1} {'d': 1, 'c': [{'b': 1, 'a': 2}]}",
	} {
		if got, err := renderSLS(t, e, text); err != nil || got != want {
			t.Errorf("%s gives %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := renderSLS(t, e, `{{ pillar.read.nope.x }}`); err == nil ||
		!strings.Contains(err.Error(), "'salt.utils.odict.OrderedDict object' has no attribute 'nope'") {
		t.Errorf("error %v", err)
	}
	high, err := e.Render(t.Context(), render.Input{Text: "{z: {y: 1}, a: 2}", Default: "jinja|yaml"})
	if m, ok := high.(*data.Map); err != nil || !ok || !m.Ordered() || !m.Value("z").(*data.Map).Ordered() {
		t.Errorf("the renderer yaml gives %v, %v, which has no order", high, err)
	}
}

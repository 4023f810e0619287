package yaml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// TestOutdentedKeys reads keys within brackets that are further left than the block around them.
// The expected results are libyaml's.
func TestOutdentedKeys(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a:\n  b: {x: 1,\n y: 2}\n  c: 1\n", "{'a': {'b': {'x': 1, 'y': 2}, 'c': 1}}"},
		{"a:\n  b: {x: {p: 1},\ny: 2}\n  c: 1\n", "{'a': {'b': {'x': {'p': 1}, 'y': 2}, 'c': 1}}"},
		{"a:\n    b: {u: v,\n  w: [],\n   k: {}}\n    c: 1\n",
			"{'a': {'b': {'u': 'v', 'w': [], 'k': {}}, 'c': 1}}"},
		{"a: {b: {c: 1,\nd: 2}\n,\ne: it's }\nf: {g: \"a\n b\",\nh: 1}\n",
			"{'a': {'b': {'c': 1, 'd': 2}, 'e': \"it's\"}, 'f': {'g': 'a b', 'h': 1}}"},
		{"a: {b: 1, # {\nc: 'x\n\n  y',\nd: \"\\\"}\",\ne: u{,\nf: 1}\n",
			"while parsing a flow mapping\n" + at(1, 4) + "\ndid not find expected ',' or '}'\n" + at(6, 5)},
		{"a:\n  b: {c: 1, # {\nd: 'x\n\n  y''}',\ne: \"\\\"}\",\nf: u, g: 1}\n",
			`{'a': {'b': {'c': 1, 'd': "x\ny'}", 'e': '"}', 'f': 'u', 'g': 1}}}`},
		{"a:\n  - m: {x: 1,\n  y: 2}\n    b: 1: 2\n",
			"mapping values are not allowed in this context\n" + at(4, 9)},
		{"k: |\n  text\n a: b: c\n", "while parsing a block mapping\n" + at(1, 1) +
			"\ndid not find expected key\n" + at(3, 2)},
		{"a:\n  b: {x: 1,\n y: 2, z}}\n", "while parsing a block mapping\n" + at(2, 3) +
			"\ndid not find expected key\n" + at(3, 10)},
	} {
		v, err := yaml.Load([]byte(c.src), yaml.Options{})
		got := data.Repr(v)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.src, got, c.want)
		}
	}
}

func at(line, column int) string {
	return fmt.Sprintf("  in \"<unicode string>\", line %d, column %d", line, column)
}

// TestFirstFault reads sources with two errors, of which libyaml reports the first.
func TestFirstFault(t *testing.T) {
	for src, want := range map[string]string{
		"a:\n  - name: x\n  - repl: 'alpha={'name': 'a', 'e': True}'\nb: 1\n": "while parsing a block mapping\n" + at(3, 5) + "\ndid not find expected key\n" + at(3, 20),
		"[Unit]\nDescription=True\nA: b\n":                                    "did not find expected <document start>\n" + at(2, 1),
		"a: 'b'c: d\n":                                                        "while parsing a block mapping\n" + at(1, 1) + "\ndid not find expected key\n" + at(1, 7),
		"- 'x' y\n- a: b: c\n":                                                "while parsing a block collection\n" + at(1, 1) + "\ndid not find expected '-' indicator\n" + at(1, 7),
		"a: b: c\n":                                                           "mapping values are not allowed in this context\n" + at(1, 5),
		"# x\nd = {\n  \"m\": {\n":                                            "mapping values are not allowed in this context\n" + at(3, 6),
	} {
		if _, err := yaml.Load([]byte(src), yaml.Options{}); err == nil || err.Error() != want {
			t.Errorf("%q\ngot  %v\nwant %s", src, err, want)
		}
	}
}

// TestOutdentedMarks checks the positions of such keys.
func TestOutdentedMarks(t *testing.T) {
	_, places, err := yaml.LoadPositions([]byte("a:\n  b: {x: 1,\n y: 2}\n  c: 1\n"), yaml.Options{})
	if m, ok := places.Of("a", "b", "y"); err != nil || !ok || m != (yaml.Mark{Line: 2, Column: 1}) {
		t.Errorf("got %v, %v, %v", m, ok, err)
	}
}

// TestOutdentedMany reads a source with many such keys, like a pillar written by a template.
func TestOutdentedMany(t *testing.T) {
	src := strings.Repeat("- a:\n    b: {x: {y: 1,\n  z: 2},\n  w: 3}\n", 3000)
	v, err := yaml.Load([]byte(src), yaml.Options{})
	if list, _ := v.([]any); err != nil || len(list) != 3000 {
		t.Errorf("%d items, %v", len(list), err)
	}
}

// TestOutdentedTexts reads such keys next to texts that only look as if they continued in brackets.
func TestOutdentedTexts(t *testing.T) {
	const begin = "a:\n  b: {x: 1,\n y: 2}\n"
	for _, c := range []struct{ src, want string }{
		{"  t: |\n    u: {\n    v\n  w: {k: 1,\nl: 2}\n", "'t': 'u: {\\nv\\n', 'w': {'k': 1, 'l': 2}"},
		{"  t:\n    - |\n     - {\n     v\n    - {k: 1,\nl: 2}\n", "'t': ['- {\\nv\\n', {'k': 1, 'l': 2}]"},
		{"  t: 'q\n\n   u: {'\n  w: [{k: 1,\nl: 2}]\n", "'t': 'q\\nu: {', 'w': [{'k': 1, 'l': 2}]"},
		{"  t: \"q: {\"\n  w: |-\n    p\n     q\n  z: {k: 1,\nl: 2}\n",
			"'t': 'q: {', 'w': 'p\\n q', 'z': {'k': 1, 'l': 2}"},
		{"  t: q # {\n  w: >\n    p: {\n    q\n", "'t': 'q', 'w': 'p: { q\\n'"},
	} {
		v, err := yaml.Load([]byte(begin+c.src), yaml.Options{})
		if want := "{'a': {'b': {'x': 1, 'y': 2}, " + c.want + "}}"; err != nil || data.Repr(v) != want {
			t.Errorf("%q\ngot  %s, %v\nwant %s", c.src, data.Repr(v), err, want)
		}
	}
}

package yaml

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// TestYAMLEX reads documents as salt.serializers.yamlex of Salt 3006.0 does, except for unmarked
// lists that replace others.
func TestYAMLEX(t *testing.T) {
	for text, want := range map[string]string{
		"":               "None",
		"a: 1\na: 2":     "{'a': 2}",
		"a: [1]\na: [2]": "{'a': [2]}",
		"a: !aggregate [1, 2]\na: !aggregate [2, 3]":                   "{'a': [1, 2, 3]}",
		"a: !aggregate [1]\na: [2]":                                    "{'a': [2]}",
		"a: !aggregate x\na: !aggregate y\na: !aggregate":              "{'a': ['x', 'y']}",
		"a: {b: 1}\na: {c: 2}":                                         "{'a': {'c': 2}}",
		"a: !aggregate {b: 1, d: 1}\na: !aggregate {c: 2, d: 2}":       "{'a': {'b': 1, 'd': 2, 'c': 2}}",
		"a: {b: !aggregate [1]}\na: {b: !aggregate [2]}":               "{'a': {'b': [1, 2]}}",
		"a: !aggregate [1]\n!reset a: !aggregate [2]":                  "{'a': [2]}",
		"a: !aggregate [1]\n!reset a: [2]\na: !aggregate [3]":          "{'a': [3]}",
		"- !aggregate 1\n- {x: !reset y}":                              "[[1], {'x': 'y'}]",
		"x: &x {a: 1}\ny: {<<: *x, b: 0644}\nz: !aggregate {<<: *x}\n": "{'x': {'a': 1}, 'y': {'a': 1, 'b': 644}, 'z': {'a': 1}}",
	} {
		got, err := LoadYAMLEX([]byte(text), Options{})
		if err != nil || data.Repr(Plain(got)) != want {
			t.Errorf("%q: %s, %v, want %s", text, data.Repr(got), err, want)
		}
	}
	for _, text := range []string{"a: [", "a: !other 1", "[a]: 1\n? [x]\n: 1", "a: &a [*a]"} {
		if got, err := LoadYAMLEX([]byte(text), Options{}); err == nil {
			t.Errorf("%q: %s", text, data.Repr(got))
		}
	}
}

func FuzzYAMLEX(f *testing.F) {
	f.Add("a: !aggregate [1, {b: !reset c}]\n!reset a: !aggregate\n")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := LoadYAMLEX([]byte(text), Options{})
		if err != nil {
			return
		}
		_ = data.Repr(Plain(Join(v, v)))
	})
}

package jinja

import (
	"strings"
	"testing"
)

// TestNames compares the names of sources, which need not exist and may stand anywhere.
func TestNames(t *testing.T) {
	env, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ source, filters, tests, paths string }{
		{"text", "", "", ""},
		{"{{ a.b['c'](d) }}", "", "", "a.b.c a.b"},
		{"{{ a[b].c }}", "", "", ""},
		{"{{ a.get('b.c', d.e) }}", "", "", "a.b.c a.get d.e"},
		{"{{ a.b.get('c') }}", "", "", "a.b.get a.b"},
		{"{% if a is odd_one %}{{ b|one|two(c.d|one) }}{% endif %}", "two one", "odd_one", "c.d"},
		{"{% for i in a.list if i.x is t %}{% else %}{{ b.c if d is u else e|f }}{% endfor %}",
			"f", "u t", "a.list b.c i.x"},
		{"{% set x %}{{ a.b }}{% endset %}{% set y | trim %}z{% endset %}", "trim", "", "a.b"},
		{"{% filter one %}{{ a.b }}{% endfilter %}", "one", "", "a.b"},
		{"{% macro m(p=a.b) %}{{ p.q }}{% endmacro %}{% call m(x.y) %}{{ z.z }}{% endcall %}",
			"", "", "a.b p.q x.y z.z"},
		{"{# a.b|c #}{% raw %}{{ a.b|c }}{% endraw %}", "", "", ""},
	} {
		n, err := env.Names("n", tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		paths := make([]string, len(n.Paths))
		for i, p := range n.Paths {
			paths[i] = strings.Join(p, ".")
		}
		if f, ts, p := strings.Join(n.Filters, " "), strings.Join(n.Tests, " "), strings.Join(paths, " "); f !=
			tc.filters || ts != tc.tests || p != tc.paths {
			t.Errorf("%s:\n filters %q, tests %q, paths %q\n want %q, %q, %q", tc.source, f, ts, p,
				tc.filters, tc.tests, tc.paths)
		}
	}
	if _, err := env.Names("n", "{% if %}"); err == nil {
		t.Error("no error for a source with an error")
	}
}

// TestFiltersAndTests finds what an environment was given beside Jinja's own.
func TestFiltersAndTests(t *testing.T) {
	none := func(*Call) (any, error) { return nil, nil }
	env, err := New(Options{Filters: map[string]Func{"zz": none}, Tests: map[string]Func{"yy": none}})
	if err != nil {
		t.Fatal(err)
	}
	filters, tests := " "+strings.Join(env.Filters(), " ")+" ", " "+strings.Join(env.Tests(), " ")+" "
	if !strings.Contains(filters, " upper ") || !strings.Contains(filters, " zz ") ||
		strings.Contains(filters, " yy ") || !strings.Contains(tests, " defined ") ||
		!strings.Contains(tests, " yy ") {
		t.Errorf("filters%stests%s", filters, tests)
	}
}

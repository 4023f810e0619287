package yaml

import (
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestOutdentedFlow reads flow collections whose lines are further left than the block around them,
// as PyYAML on libyaml does.
func TestOutdentedFlow(t *testing.T) {
	for src, want := range map[string]string{
		"a:\n    b: {x: 1,\n  y: 2}\n":                                                                          "{'a': {'b': {'x': 1, 'y': 2}}}",
		"a:\n    b: {x: 1, z: 2,\ny: 2}\n":                                                                      "{'a': {'b': {'x': 1, 'z': 2, 'y': 2}}}",
		"a:\n    - b: [x, z,\n  y: 2]\nc: 3\n":                                                                  "{'a': [{'b': ['x', 'z', {'y': 2}]}], 'c': 3}",
		"a:\n      b: {x: 'q\n\n  r', y: 2, \"k\":'v', z:\n 1}\n      c: it's\n":                                "{'a': {'b': {'x': 'q\\nr', 'y': 2, 'k': 'v', 'z': 1}, 'c': \"it's\"}}",
		"a:\n      b: {x: p\n q,\nw: http://h/'x, # it's }\ny: {z: 1},\nv: [}]}\n":                              "",
		"a:\n      b: {x: p\n q,\nw: http://h/'x, # it's }\ny: {z: 1},\nv: []}\n      c: {d: 1,\ne: !!str 1}\n": "{'a': {'b': {'x': 'p q', 'w': \"http://h/'x\", 'y': {'z': 1}, 'v': []}, 'c': {'d': 1, 'e': '1'}}}",
		"a:\n      b: {x: &i '}', y: {p: 1,\nq: *i},\nz: \"\\\"}\",\nw: 'it''s }'}\n":                           "{'a': {'b': {'x': '}', 'y': {'p': 1, 'q': '}'}, 'z': '\"}', 'w': \"it's }\"}}}",
		"a:\r\n    b: {x: 1,\r\n  y: 2}\r\nz: 1\r\n":                                                            "{'a': {'b': {'x': 1, 'y': 2}}, 'z': 1}",
		"a:\n    - {x: 1,\ny: 2}: 5\n":                                                                          "",
	} {
		v, err := Load([]byte(src), Options{})
		if want == "" {
			if err == nil {
				t.Errorf("%q gives %s", src, data.Repr(v))
			}
		} else if err != nil || data.Repr(v) != want {
			t.Errorf("%q gives %s, %v, want %s", src, data.Repr(v), err, want)
		}
	}
}

// TestOutdentedMarks checks that errors after such a collection, and after ones that only look like
// it, have the marks of the source.
func TestOutdentedMarks(t *testing.T) {
	for src, want := range map[string]string{
		"a:\n    b: {x: 1,\n  y: 2}\nc: d: e\n":   "mapping values are not allowed in this context\n  in \"<unicode string>\", line 4, column 5",
		"a:\n    b: {x: 1,\n  y: 2, @}\n":         "while scanning for the next token\nfound character that cannot start any token\n  in \"<unicode string>\", line 3, column 9",
		"a: 1\nb: c: d\ne: f\n":                   "mapping values are not allowed in this context\n  in \"<unicode string>\", line 2, column 5",
		"a:\n    b: {x: 1,\n  y: 2, x: 3}\n":      "while constructing a mapping\n  in \"<unicode string>\", line 2, column 8\nfound conflicting ID 'x'\n  in \"<unicode string>\", line 3, column 9",
		"a:\n    b: {x: 1,\n  y: *q}\n":           "found undefined alias\n  in \"<unicode string>\", line 3, column 6",
		"a:\n    b: {x: 1,\n  y: 2\nc:\n  d: [\n": "while parsing a flow mapping\n  in \"<unicode string>\", line 2, column 8\ndid not find expected ',' or '}'\n  in \"<unicode string>\", line 4, column 2",
	} {
		v, err := Load([]byte(src), Options{})
		var e *Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q gives %s, %q\nwant %q", src, data.Repr(v), err, want)
		}
	}
}

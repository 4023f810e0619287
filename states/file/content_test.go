//go:build unix

package file_test

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestContentOfAnyKind checks what Salt 3006.18 writes for values that are not strings: Python's
// text of the loaded YAML.
func TestContentOfAnyKind(t *testing.T) {
	inner := data.NewMap("a", []any{1, data.NewMap("b", "c")})
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"mapping", data.NewMap("k", "v", "n", 1), "OrderedDict([('k', 'v'), ('n', 1)])\n"},
		{"mapping in a mapping", data.NewMap("k", inner),
			"OrderedDict([('k', OrderedDict([('a', [1, OrderedDict([('b', 'c')])])]))])\n"},
		{"list with a mapping", []any{"a", data.NewMap("k", "v")}, "a\nOrderedDict([('k', 'v')])\n"},
		{"list with a list", []any{"a", []any{"b", data.NewMap("k", 1)}},
			"a\n['b', OrderedDict([('k', 1)])]\n"},
		{"list of scalars", []any{true, 1, nil, 1.5}, "True\n1\nNone\n1.5\n"},
		{"number", 5, "5\n"},
		{"boolean", true, "True\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.write("appended", "")
			for fun, arg := range map[string]string{"managed": "contents", "append": "text"} {
				at := h.at(fun + "ed")
				words := []any{"name", at, arg, tt.value}
				if ret := h.run(fun, true, words...); ret.Value("result") != nil {
					t.Errorf("%s, test mode: %s", fun, data.Repr(ret))
				}
				if ret := h.run(fun, false, words...); ret.Value("result") != true ||
					!data.Truth(ret.Value("changes")) {
					t.Errorf("%s: %s", fun, data.Repr(ret))
				}
				if body, err := os.ReadFile(at); err != nil || string(body) != tt.want {
					t.Errorf("%s wrote %q, %v, want %q", fun, body, err, tt.want)
				}
				if ret := h.run(fun, false, words...); ret.Value("result") != true ||
					data.Truth(ret.Value("changes")) {
					t.Errorf("%s again: %s", fun, data.Repr(ret))
				}
			}
		})
	}
}

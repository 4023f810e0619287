package output

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestChoiceName(t *testing.T) {
	for _, tt := range []struct {
		name   string
		choice Choice
		want   string
	}{
		{"nothing said", Choice{Fun: "test.ping"}, "nested"},
		{"the function asks", Choice{Asked: "highstate", Fun: "state.apply"}, "highstate"},
		{"the operator overrules it", Choice{Forced: "json", Asked: "highstate"}, "json"},
		{"an operator cannot ask for highstate", Choice{Forced: "highstate", Fun: "test.ping"}, "nested"},
		{"but where the function does too", Choice{Forced: "highstate", Asked: "highstate"}, "highstate"},
		{"and with static", Choice{Forced: "highstate", Static: true, Fun: "test.ping"}, "highstate"},
		{"a state run with static", Choice{Static: true, Fun: "state.apply"}, "highstate"},
		{"another run with static", Choice{Static: true, Fun: "statex.apply"}, "nested"},
		{"text is txt", Choice{Forced: "text"}, "txt"},
	} {
		if got := tt.choice.Name(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestUseColour(t *testing.T) {
	windows := runtime.GOOS == "windows"
	for _, tt := range []struct {
		name                    string
		configured              any
		force, forbid, terminal bool
		want                    bool
	}{
		{"a terminal", nil, false, false, true, !windows},
		{"a pipe", nil, false, false, false, false},
		{"a pipe, forced", nil, true, false, false, true},
		{"forced and forbidden", nil, true, true, true, true},
		{"forbidden", true, false, true, true, false},
		{"configured for a pipe", true, false, false, false, !windows},
		{"configured off", false, false, false, true, false},
	} {
		if got := UseColour(tt.configured, tt.force, tt.forbid, tt.terminal); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestOrderedMaps checks that maps that are OrderedDicts in Salt are printed in their order, and by
// pprint, raw and the like with their class name.
func TestOrderedMaps(t *testing.T) {
	v := data.NewMap("local", data.NewMap("b", int64(1),
		"a", data.NewMap("d", true, "c", data.NewMap("z", nil, "y", nil)).SetOrdered()))
	for name, want := range map[string]string{
		"nested": "local:\n    ----------\n    a:\n        ----------\n        d:\n            True\n        c:\n            ----------\n            y:\n" +
			"                None\n            z:\n                None\n    b:\n        1",
		"pprint":              "{'local': {'a': OrderedDict([('d', True), ('c', {'z': None, 'y': None})]),\n           'b': 1}}",
		"raw":                 "{'local': {'b': 1, 'a': OrderedDict([('d', True), ('c', {'z': None, 'y': None})])}}",
		"txt":                 "local: {'b': 1, 'a': OrderedDict([('d', True), ('c', {'z': None, 'y': None})])}",
		"newline_values_only": "{'b': 1, 'a': OrderedDict([('d', True), ('c', {'z': None, 'y': None})])}",
	} {
		if got, err := Printout(Choice{Forced: name}, v, Options{Indent: NoIndent{}}); err != nil ||
			got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

func TestKeepOrder(t *testing.T) {
	v := data.NewMap("local", data.NewMap("b", int64(1), "a", data.NewMap("d", true, "c", nil)))
	for name, want := range map[string][2]string{
		"nested": {"local:\n    ----------\n    a:\n        ----------\n        c:\n            None\n        d:\n            True\n    b:\n        1",
			"local:\n    ----------\n    b:\n        1\n    a:\n        ----------\n        d:\n            True\n        c:\n            None"},
		"yaml": {"local:\n  a:\n    c: null\n    d: true\n  b: 1",
			"local:\n  b: 1\n  a:\n    d: true\n    c: null"},
	} {
		for i, keep := range []bool{false, true} {
			if got, err := Printout(Choice{Forced: name}, v,
				Options{Indent: NoIndent{}, KeepOrder: keep}); got != want[i] || err != nil {
				t.Errorf("%s, order kept %v: %q, %v, want %q", name, keep, got, err, want[i])
			}
		}
	}
}

func TestPrintoutFallsBack(t *testing.T) {
	v := data.NewMap("web1", true)
	for _, tt := range []struct {
		name   string
		choice Choice
		text   string
		err    error
	}{
		{"an outputter that a function asks for and that cannot", Choice{Asked: "overstatestage"},
			"web1:\n    True", nil},
		{"the same when forced", Choice{Forced: "overstatestage"}, "", ErrValue},
		{"one that lacks a key", Choice{Forced: "key"}, "", ErrKey},
		{"one that old minions ask for", Choice{Asked: "grains"}, "web1:\n    True", nil},
	} {
		text, err := Printout(tt.choice, v, Options{})
		if text != tt.text || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, text, err, tt.text, tt.err)
		}
	}
}

func TestPrintoutNamesAnUnknownOutputter(t *testing.T) {
	text, err := Printout(Choice{Forced: "nosuch"}, "x\n\n \x1f", Options{})
	if text != "x" || err == nil || err.Error() != "Invalid outputter nosuch specified, fall back to nested" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPrintoutOfCyclicValue(t *testing.T) {
	m := data.NewMap("a", int64(1))
	m.Set("self", []any{m})
	for _, name := range Names() {
		if _, err := Printout(Choice{Forced: name}, m, Options{}); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheme(t *testing.T) {
	text, err := Printout(Choice{}, data.NewMap("web1", nil),
		Options{Colour: true, Theme: data.NewMap("CYAN", "1;35", "ENDC", int64(0))})
	if want := "\x1b[1;35mweb1\x1b[0m:\n    \x1b[0;1;33mNone\x1b[0m"; err != nil || text != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
}

func FuzzOutputters(f *testing.F) {
	f.Add("a\x1b[0m\u2028é", int64(-1), []byte("\xff'\""))
	f.Add(strings.Repeat("word ", 40), int64(4), []byte(nil))
	f.Fuzz(func(t *testing.T, s string, indent int64, b []byte) {
		v := data.NewMap(s, []any{s, b, data.NewMap(s+"x", data.Tuple{s, indent}), []any{[]any{s + s}}})
		for _, name := range Names() {
			text, err := Printout(Choice{Asked: name}, v, Options{Indent: indent, Colour: true})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if size := 3*len(s) + len(b); len(text) > 10000+60000*20+600*size {
				t.Errorf("%s: %d bytes of text for %d bytes of value", name, len(text), size)
			}
		}
	})
}

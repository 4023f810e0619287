package jinja_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// What is one object for the caller is one object for the template, as in Python.
func TestImportKeepsSharing(t *testing.T) {
	list, dict := []any{"x"}, data.NewMap("k", "v")
	v := jinja.Import(data.NewMap("a", list, "b", list, "c", dict, "d", data.Tuple{dict}, "e", []any{"x"}))
	m := v.(*data.Map)
	m.Value("a").(*jinja.List).Items[0] = "y"
	m.Value("c").(*data.Map).Set("k", "w")
	back, err := jinja.Export(m)
	want := "{'a': ['y'], 'b': ['y'], 'c': {'k': 'w'}, 'd': ({'k': 'w'},), 'e': ['x']}"
	if got := data.Repr(back); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if list[0] != "x" || dict.Value("k") != "v" {
		t.Error("the original has changed")
	}
}

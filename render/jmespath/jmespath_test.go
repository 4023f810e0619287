package jmespath

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// TestSearch compares with the results of Python's library, captured in testdata/search.json.
func TestSearch(t *testing.T) {
	src, err := os.ReadFile("testdata/search.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(src))
	if err != nil {
		t.Fatal(err)
	}
	file := v.(*data.Map)
	for _, c := range file.Value("cases").([]any) {
		tc := c.(*data.Map)
		got, err := Search(tc.Text("expr"), file.Value("document"))
		want, fine := tc.Get("result")
		switch {
		case fine != (err == nil):
			t.Errorf("%s: got %s, %v, want %s", tc.Text("expr"), data.Repr(got), err,
				data.Repr(tc.Value("error")))
		case fine && data.Repr(got) != data.Repr(want):
			t.Errorf("%s:\ngot  %s\nwant %s", tc.Text("expr"), data.Repr(got), data.Repr(want))
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"a.b[0]", "a[?b > `1`].{c: d, \"e\": f} | [0]",
		"sort_by(@, &a)[::-1]", "*.*[]", "[a, b][*]", "'x' || `[1]`"} {
		f.Add(s)
	}
	doc := data.NewMap("a", []any{int64(1), data.NewMap("b", "c")}, "d", []any{})
	f.Fuzz(func(t *testing.T, expr string) {
		if len(expr) < 1000 {
			_, _ = Search(expr, doc)
		}
	})
}

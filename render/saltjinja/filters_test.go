package saltjinja

import (
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// TestFilters compares with Salt 3006's results for the templates in testdata/filters.json; for
// errors with their first line.
func TestFilters(t *testing.T) {
	src, err := os.ReadFile("testdata/filters.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	e := engine(t, New(), &loader.Env{Opts: data.NewMap("id", "web1")}, nil)
	for _, c := range list.([]any) {
		tc := c.(*data.Map)
		got, err := e.Template(t.Context(), "jinja", render.Input{Text: tc.Text("template"), SaltEnv: "base"})
		if want, fails := tc.Get("error"); fails {
			first := ""
			if err != nil {
				first, _, _ = strings.Cut(err.Error(), "\n")
			}
			if first != want {
				t.Errorf("%s\ngot  %q, %q\nwant %q", tc.Text("template"), got, first, want)
			}
			continue
		}
		if err != nil || got != tc.Text("text") {
			t.Errorf("%s\ngot  %q, %v\nwant %q", tc.Text("template"), got, err, tc.Text("text"))
		}
	}
}

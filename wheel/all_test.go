package wheel

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	n := Needs{Keys: pki.Visit(t.TempDir(), pki.Options{}), Connected: func() ([]string, error) { return nil, nil }}
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func signature(fun string, s *loader.Spec) string {
	var parts []string
	for _, p := range s.Params {
		if p.Required {
			parts = append(parts, p.Name)
		} else {
			parts = append(parts, p.Name+"="+data.Repr(p.Default))
		}
	}
	return fun + "(" + strings.Join(parts, ", ") + ")"
}

func TestSignaturesAreSalts(t *testing.T) {
	src, err := os.ReadFile("testdata/signatures.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t)
	var got, want []string
	for line := range strings.Lines(string(src)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		got = append(got, signature(fun, f.Spec()))
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") || !strings.Contains(doc, "Example:\n") {
			t.Errorf("%s has no documentation with an example: %q", fun, doc)
		}
	}
	for _, s := range want {
		if !slices.Contains(got, s) {
			t.Errorf("there is no %s", s)
		}
	}
	ours := []string{"key.rotate_master(days=90)"}
	for _, s := range got {
		if !slices.Contains(want, s) && !slices.Contains(ours, s) {
			t.Errorf("Salt has no %s", s)
		}
	}
}

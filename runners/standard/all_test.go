package standard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners/jobstore"
)

// everything is a shelf in which every runner works.
func everything(t *testing.T) *loader.Registry {
	t.Helper()
	dir := t.TempDir()
	jobs, err := jobstore.Open(t.Context(), filepath.Join(dir, "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bank, err := localfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jobs.Close(); bank.Close() })
	n := Needs{Jobs: jobs, Keys: pki.Visit(dir, pki.Options{}), Bank: bank, Files: fileserver.New(fileserver.Options{}), Tokens: noTokens{}, Mine: noMine, Pillar: noPillars{}}
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
	if s.Args != "" {
		parts = append(parts, "*")
	}
	if s.Kwargs != "" {
		parts = append(parts, "**")
	}
	return fun + "(" + strings.Join(parts, ", ") + ")"
}

func TestSignaturesAreSalts(t *testing.T) {
	src, err := os.ReadFile("testdata/signatures.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := everything(t)
	var got, want []string
	for line := range strings.Lines(string(src)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		got = append(got, signature(fun, f.Spec()))
	}
	for _, s := range want {
		if !slices.Contains(got, s) {
			t.Errorf("there is no %s", s)
		}
	}
	for _, s := range got {
		if !slices.Contains(want, s) {
			t.Errorf("Salt has no %s", s)
		}
	}
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	r := everything(t)
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") || !strings.Contains(doc, "Example:\n") {
			t.Errorf("%s has no documentation with an example: %q", fun, doc)
		}
	}
}

// TestMissingNeedsAreTold makes the shelf with nothing to work on: each runner says why it cannot, or does without.
func TestMissingNeedsAreTold(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(Needs{}))
	if err != nil {
		t.Fatal(err)
	}
	for fun, want := range map[string]string{"jobs.list_jobs": "there is no job cache", "manage.up": "there are no keys of a master", "cache.grains": "there is no master's cache",
		"mine.get": "there is no mine", "fileserver.envs": "there is no file server", "auth.del_token": "there is no store of tokens"} {
		if got := r.MissingText(fun); !strings.HasSuffix(got, "__virtual__ returned False: "+want) {
			t.Errorf("%s: %s, want %s", fun, got, want)
		}
	}
	if !r.Has("test.arg") {
		t.Error("there is no test.arg")
	}
}

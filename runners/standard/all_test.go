package standard

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/internal/signatures"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners/jobstore"
)

// everything is a registry in which every runner works.
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
	n := Needs{Jobs: jobs, Keys: pki.Visit(dir, pki.Options{}), Bank: bank,
		Files: fileserver.New(fileserver.Options{}), Tokens: noTokens{}, Mine: noMine, Pillar: noPillars{}}
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFunctionsAreSalts(t *testing.T) {
	problems, err := signatures.Problems("testdata/signatures.txt", everything(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range problems {
		t.Error(text)
	}
}

// TestMissingNeedsAreReported builds the runners without dependencies: each reports what is
// missing, or works without.
func TestMissingNeedsAreReported(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(Needs{}))
	if err != nil {
		t.Fatal(err)
	}
	for fun, want := range map[string]string{"jobs.list_jobs": "no job cache is configured",
		"manage.up": "no key store is configured", "cache.grains": "no master cache is configured",
		"mine.get": "no mine is configured", "fileserver.envs": "no file server is configured",
		"auth.del_token": "no token store is configured"} {
		if got := r.MissingText(fun); !strings.HasSuffix(got, "__virtual__ returned False: "+want) {
			t.Errorf("%s: %s, want %s", fun, got, want)
		}
	}
	if !r.Has("test.arg") {
		t.Error("there is no test.arg")
	}
}

package wheel

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/signatures"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	n := Needs{Keys: pki.Visit(t.TempDir(), pki.Options{}),
		Connected: func() ([]string, error) { return nil, nil }}
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, Plugins(n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFunctionsAreSalts(t *testing.T) {
	problems, err := signatures.Problems("testdata/signatures.txt", registry(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range problems {
		t.Error(text)
	}
}

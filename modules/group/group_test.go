//go:build unix

package group

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

// TestCalls holds what Salt 3006.0 answers on a host with the users and groups of testdata.
func TestCalls(t *testing.T) {
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	calls.Check(t, "testdata/calls.json", r.Invoke, "ROOT", root)
}

func TestWithoutAFile(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Root: t.TempDir()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "group.info", []any{"root"}, nil); loader.KindOf(err) != loader.KindExecution {
		t.Errorf("group.info = %v, %v", got, err)
	}
}

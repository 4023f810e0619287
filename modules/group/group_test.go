//go:build unix

package group

import (
	"testing"

	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

// TestCalls compares with the results of Salt 3006.0 on a host with the users and groups in
// testdata.
func TestCalls(t *testing.T) { calls.CheckRoot(t, Plugin()) }

func TestWithoutAFile(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Root: t.TempDir()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "group.info", []any{"root"},
		nil); loader.KindOf(err) != loader.KindExecution {
		t.Errorf("group.info = %v, %v", got, err)
	}
}

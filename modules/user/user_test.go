//go:build unix

package user

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

// TestCalls compares with the answers of Salt 3006.0 on a host with the users and groups of
// testdata.
func TestCalls(t *testing.T) { calls.CheckRoot(t, Plugin()) }

func TestWithoutAFile(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Root: t.TempDir()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "user.info", []any{"root"},
		nil); loader.KindOf(err) != loader.KindExecution {
		t.Errorf("user.info = %v, %v", got, err)
	}
}

func TestPrimaryGroup(t *testing.T) {
	env := &loader.Env{Call: func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
		if want := []any{[]any{"id", "-g", "-n", "--", "ann"}}; fun != "cmd.run" || !data.Equal(args, want) {
			t.Errorf("called %s %v", fun, args)
		}
		return "ann", nil
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := r.Invoke(t.Context(), "user.primary_group", []any{"ann"}, nil); err != nil ||
			got != "ann" {
			t.Errorf("user.primary_group = %v, %v", got, err)
		}
	}
}

package environ

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	env := &loader.Env{Grains: func() *data.Map { return data.NewMap("id", "web1") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	for _, name := range "ABCDEU" {
		t.Setenv("BRINE_TEST_"+string(name), "")
	}
	calls.Check(t, "testdata/calls.json", registry(t).Invoke)
}

func TestItems(t *testing.T) {
	t.Setenv("BRINE_TEST_A", "a=b")
	for range 2 {
		got, err := registry(t).Invoke(t.Context(), "environ.items", nil, nil)
		m, ok := got.(*data.Map)
		if err != nil || !ok || m.Text("BRINE_TEST_A") != "a=b" || m.Text("PATH") == "" {
			t.Errorf("environ.items = %v, %v", got, err)
		}
	}
}

// clear_all leaves the given variables alone, and the event names the variables to set.
func TestSetenv(t *testing.T) {
	for _, line := range os.Environ() {
		if name, value, _ := strings.Cut(line, "="); name != "" {
			t.Setenv(name, value) // restored when the test ends
		}
	}
	t.Setenv("BRINE_TEST_A", "1")
	var fired []any
	env := &loader.Env{Call: func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
		fired = append([]any{fun}, args...)
		return true, nil
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	vars := data.NewMap("BRINE_TEST_B", "2")
	got, err := r.Invoke(t.Context(), "environ.setenv", []any{vars},
		data.NewMap("clear_all", true, "false_unsets", true, "update_minion", true))
	if err != nil || len(os.Environ()) != 1 || os.Getenv("BRINE_TEST_B") != "2" {
		t.Errorf("environ.setenv = %v, %v; the environment is %q", got, err, os.Environ())
	}
	if v, ok := got.(*data.Map).Get("BRINE_TEST_A"); !ok || v != nil {
		t.Errorf("BRINE_TEST_A: %v", v)
	}
	want := []any{"event.fire", data.NewMap("environ", vars, "false_unsets", true,
		"clear_all", true, "permanent", false), "environ_setenv"}
	if !data.Equal(fired, want) {
		t.Errorf("called %s, want %s", data.Repr(fired), data.Repr(want))
	}
}

package sysctl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// TestOneParameterIsOneLine checks that a value cannot add a second parameter to the configuration.
func TestOneParameterIsOneLine(t *testing.T) {
	fake(t, "exit 0")
	root := t.TempDir()
	env := &loader.Env{Root: root, Opts: data.NewMap(),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"vm.swappiness": "1\nkernel.core_pattern = |/tmp/x",
		"a = 1\nkernel.core_pattern": "|/tmp/x", "b": "1\r2"} {
		for range 2 {
			if v, err := r.Invoke(t.Context(), "sysctl.persist", []any{name, value},
				data.NewMap("config", "/sysctl.conf")); err == nil {
				t.Errorf("%q = %q: %s", name, value, data.Repr(v))
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "sysctl.conf")); !os.IsNotExist(err) {
		t.Errorf("it wrote %q, %v", text, err)
	}
}

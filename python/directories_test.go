package python_test

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/python"
)

// TestPrecedenceOfDirectories checks the order of Salt 3006.18: synced files come before those of the
// options, unless the option features says otherwise.
func TestPrecedenceOfDirectories(t *testing.T) {
	opts := data.NewMap("extension_modules", "/ext", "states_dirs", []any{"/b", "/a"},
		python.FirstDirs, data.NewMap("states", []any{"/here/_states"}))
	for _, c := range []struct {
		features any
		want     []string
	}{
		{nil, []string{"/here/_states", "/ext/states", "/b", "/a"}},
		{data.NewMap("enable_deprecated_module_search_path_priority", true),
			[]string{"/here/_states", "/b", "/a", "/ext/states"}},
	} {
		opts.Set("features", c.features)
		if got := python.Directories(opts)["states"]; !slices.Equal(got, c.want) {
			t.Errorf("with features %v: %q, want %q", c.features, got, c.want)
		}
	}
	if got := python.Directories(opts)["grains"]; !slices.Equal(got, []string{"/ext/grains"}) {
		t.Errorf("grains: %q", got)
	}
}

package winpath

import (
	"slices"
	"strings"
	"testing"
)

// The results are those of _check_path in salt/modules/win_path.py.
func TestPlaced(t *testing.T) {
	for _, tt := range []struct {
		dirs, path string
		index      int
		want       string
	}{
		{"a b c", "x", anywhere, "a b c x"},
		{"a B c", "b", anywhere, "a B c"},
		{"a b c", "x", 0, "x a b c"},
		{"a b c", "x", 1, "a x b c"},
		{"a b c", "x", 9, "a b c x"},
		{"a b c", "x", -1, "a b c x"},
		{"a b c", "x", -2, "a b x c"},
		{"a b c", "x", -9, "x a b c"},
		{"a b c", "c", -1, "a b c"},
		{"a b c", "a", -1, "b c a"},
		{"a b c", "c", 0, "c a b"},
		{"a b c", "a", 0, "a b c"},
		{"a b c", "b", -2, "a b c"},
		{"a b c", "a", -2, "b a c"},
		{"", "x", 0, "x"},
	} {
		got := strings.Join(placed(strings.Fields(tt.dirs), tt.path, tt.index), " ")
		if got != tt.want {
			t.Errorf("%s with %s at %d: %s, want %s", tt.dirs, tt.path, tt.index, got, tt.want)
		}
	}
}

func TestFindIgnoresCase(t *testing.T) {
	if i := find([]string{`C:\Windows`, `C:\Tools`}, `c:\tools`); i != 1 {
		t.Errorf("index %d, want 1", i)
	}
	if i := find(slices.Clone([]string{"a"}), "b"); i != -1 {
		t.Errorf("index %d, want -1", i)
	}
}

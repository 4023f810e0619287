package difflib

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// testdata/diffs.json holds what Python's difflib.unified_diff answered.
func TestUnified(t *testing.T) {
	src, err := os.ReadFile("testdata/diffs.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ A, B, Diff []string }
	if err := json.Unmarshal(src, &cases); err != nil || len(cases) < 50 {
		t.Fatal(len(cases), err)
	}
	for i, c := range cases {
		if got := Unified(c.A, c.B, "", "", "\n"); !slices.Equal(got, c.Diff) {
			t.Errorf("case %d: Unified(%q, %q)\n got %q\nwant %q", i, c.A, c.B, got, c.Diff)
		}
	}
}

// testdata/around.json has them with few or no equal lines around a change.
func TestAround(t *testing.T) {
	src, err := os.ReadFile("testdata/around.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		N          int
		A, B, Diff []string
	}
	if err := json.Unmarshal(src, &cases); err != nil || len(cases) < 40 {
		t.Fatal(len(cases), err)
	}
	for i, c := range cases {
		if got := Around(c.A, c.B, c.N, "", "", "\n"); !slices.Equal(got, c.Diff) {
			t.Errorf("case %d: Around(%q, %q, %d)\n got %q\nwant %q", i, c.A, c.B, c.N, got, c.Diff)
		}
	}
}

func TestText(t *testing.T) {
	if got, want := Text([]string{"a\n"}, []string{"b\n"}), "--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Text([]string{"a"}, []string{"a"}); got != "" {
		t.Errorf("equal texts differ by %q", got)
	}
}

// A diff says what becomes of each line.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := split(x), split(y)
		if diff := Unified(a, b, "", "", "\n"); (len(diff) == 0) != slices.Equal(a, b) {
			t.Errorf("Unified(%q, %q) = %q", a, b, diff)
		}
		var back []string
		for _, op := range opcodes(a, b) {
			if op.equal && !slices.Equal(a[op.a1:op.a2], b[op.b1:op.b2]) {
				t.Errorf("%q and %q are no equal lines", a[op.a1:op.a2], b[op.b1:op.b2])
			}
			back = append(back, b[op.b1:op.b2]...)
		}
		if !slices.Equal(back, b) {
			t.Errorf("steps from %q lead to %q, want %q", a, back, b)
		}
	})
}

func split(s string) []string {
	var out []string
	for i, r := 0, 0; r < len(s); r++ {
		if s[r] == '\n' || r == len(s)-1 {
			out = append(out, s[i:r+1])
			i = r + 1
		}
	}
	return out
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		lines       []string
		split, bare []string
	}{
		{Lines(""), nil, nil},
		{Lines("a\r\nb\rc\n\nd"), []string{"a\r\n", "b\r", "c\n", "\n", "d"},
			[]string{"a", "b", "c", "", "d"}},
		{Lines("a\u2028b\x0cc\r"), []string{"a\u2028", "b\x0c", "c\r"}, []string{"a", "b", "c"}},
		{ByteLines("a\u2028b\x0cc\r\r\n"), []string{"a\u2028b\x0cc\r", "\r\n"},
			[]string{"a\u2028b\x0cc", ""}},
	} {
		var bare []string
		for _, line := range tt.lines {
			bare = append(bare, Bare(line))
		}
		if !slices.Equal(tt.lines, tt.split) || !slices.Equal(bare, tt.bare) {
			t.Errorf("got %q and %q, want %q and %q", tt.lines, bare, tt.split, tt.bare)
		}
	}
}

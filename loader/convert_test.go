package loader

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestSplitList(t *testing.T) {
	for _, c := range []struct {
		v    any
		want []string
	}{
		{nil, nil},
		{"a, b ,c", []string{"a", "b", "c"}},
		{[]any{" a", int64(1)}, []string{" a", "1"}},
		{data.Tuple{"a,b"}, []string{"a,b"}},
		{int64(3), []string{"3"}},
	} {
		if got := SplitList(c.v); !slices.Equal(got, c.want) {
			t.Errorf("SplitList(%s) = %q, want %q", data.Repr(c.v), got, c.want)
		}
	}
}

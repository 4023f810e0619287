package data_test

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestMerge(t *testing.T) {
	m := data.NewMap
	for _, tt := range []struct {
		name           string
		dst, src, want *data.Map
		lists          bool
	}{
		{"keys of either", m("a", int64(1)), m("b", int64(2)), m("a", int64(1), "b", int64(2)), false},
		{"maps in depth", m("a", m("x", int64(1), "y", m("z", int64(2)))),
			m("a", m("y", m("w", int64(3)))),
			m("a", m("x", int64(1), "y", m("z", int64(2), "w", int64(3)))), false},
		{"a map over text", m("a", "text"), m("a", m("b", int64(1))), m("a", m("b", int64(1))), true},
		{"None over a map", m("a", m("b", int64(1))), m("a", nil), m("a", nil), true},
		{"lists replaced", m("a", []any{int64(1)}), m("a", []any{int64(2)}), m("a", []any{int64(2)}), false},
		{"lists joined", m("a", []any{int64(1), "x"}), m("a", []any{true, int64(2), int64(2)}),
			m("a", []any{int64(1), "x", int64(2), int64(2)}), true},
		{"a list over a tuple", m("a", data.Tuple{int64(1)}), m("a", []any{int64(2)}),
			m("a", []any{int64(2)}), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := data.Clone(tt.src)
			data.Merge(tt.dst, tt.src, tt.lists)
			if !data.Equal(tt.dst, tt.want) || data.Repr(tt.dst) != data.Repr(tt.want) {
				t.Errorf("got %s, want %s", data.Repr(tt.dst), data.Repr(tt.want))
			}
			if !data.Equal(tt.src, src) {
				t.Errorf("src became %s", data.Repr(tt.src))
			}
		})
	}
}

func TestMergeLeavesListsOfOthers(t *testing.T) {
	list := make([]any, 1, 8)
	list[0] = "a"
	dst := data.NewMap("l", list)
	data.Merge(dst, data.NewMap("l", []any{"b"}), true)
	if list[:2][1] != nil || len(dst.Value("l").([]any)) != 2 {
		t.Errorf("the list became %v, merged is %v", list[:2], dst.Value("l"))
	}
}

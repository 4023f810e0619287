package data_test

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// TestClassText compares with Python 3.11's text of Salt's dictionaries.
func TestClassText(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"text", "text"},
		{[]any{"text"}, "['text']"},
		{data.NewMap("b", int64(1), "a", data.Tuple{"x"}), "{'b': 1, 'a': ('x',)}"},
		{data.NewMap().SetOrdered(), "OrderedDict()"},
		{data.NewMap("b", data.Tuple{int64(1), nil}, "a", data.NewMap("c", true).SetOrdered()).SetOrdered(),
			"OrderedDict([('b', (1, None)), ('a', OrderedDict([('c', True)]))])"},
		{data.NewMap("a", []any{data.NewMap("c", 1.5).SetOrdered()}), "{'a': [OrderedDict([('c', 1.5)])]}"},
		{data.NewMap("a", "x").SetClass(data.HashableOrderedDict), "HashableOrderedDict([('a', 'x')])"},
		{data.NewMap("base", []any{}).SetClass(data.DefaultOrderedDict),
			"DefaultOrderedDict(<class 'salt.utils.datastructures.HashableOrderedDict'>, " +
				"DefaultOrderedDict([('base', [])]))"},
	} {
		if got := data.ClassText(tt.value); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

package data

import (
	"reflect"
	"slices"
	"testing"
)

func TestValues(t *testing.T) {
	if got, want := Values([]string{"a", ""}), []any{"a", ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("Values = %#v, want %#v", got, want)
	}
	if got := Values(nil); got == nil || len(got) != 0 {
		t.Errorf("Values(nil) = %#v, want an empty list", got)
	}
}

func TestTexts(t *testing.T) {
	list := []any{"a", 1, nil, true, 1.0}
	if got, want := Texts(list), []string{"a", "1", "None", "True", "1.0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Texts(%#v) = %#v, want %#v", list, got, want)
	}
	if got := Texts(nil); got == nil || len(got) != 0 {
		t.Errorf("Texts(nil) = %#v, want an empty list", got)
	}
}

func TestTextsOf(t *testing.T) {
	for _, c := range []struct {
		v     any
		alone []string
		split []string
	}{
		{nil, nil, nil},
		{"", nil, []string{""}},
		{"a, b", []string{"a, b"}, []string{"a", " b"}},
		{[]any{"a,b", int64(1), nil}, []string{"a,b", "1", "None"}, []string{"a,b", "1", "None"}},
		{Tuple{true}, []string{"True"}, []string{"True"}},
		{int64(7), nil, []string{"7"}},
		{NewMap("a", 1), nil, []string{"{'a': 1}"}},
	} {
		if got := TextsOf(c.v); !slices.Equal(got, c.alone) {
			t.Errorf("TextsOf(%s) = %q, want %q", Repr(c.v), got, c.alone)
		}
		if got := SplitTexts(c.v, ","); !slices.Equal(got, c.split) {
			t.Errorf("SplitTexts(%s) = %q, want %q", Repr(c.v), got, c.split)
		}
	}
}

func TestListOf(t *testing.T) {
	for _, c := range []struct {
		v    any
		want []any
	}{
		{nil, nil},
		{"a", []any{"a"}},
		{[]any{"a", nil}, []any{"a", nil}},
		{Tuple{true}, []any{true}},
	} {
		if got := ListOf(c.v); !slices.Equal(got, c.want) {
			t.Errorf("ListOf(%s) = %v, want %v", Repr(c.v), got, c.want)
		}
	}
}

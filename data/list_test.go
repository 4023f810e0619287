package data

import (
	"reflect"
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

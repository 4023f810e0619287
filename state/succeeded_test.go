package state_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// TestSucceeded compares with the results of salt.utils.state.check_result of 3006.0.
func TestSucceeded(t *testing.T) {
	result := func(v any) *data.Map { return data.NewMap("result", v) }
	for _, tt := range []struct {
		name             string
		results          any
		shallow, recurse bool
	}{
		{"no dictionary", []any{"problem"}, false, false},
		{"empty", data.NewMap(), false, false},
		{"true and None", data.NewMap("a", result(true), "b", result(nil)), true, true},
		{"one failed", data.NewMap("a", result(true), "b", result(false)), false, false},
		{"a text beside results", data.NewMap("a", result(true), "out", "highstate"), false, true},
		{"results of a minion", data.NewMap("web1", data.NewMap("a", result(true))), true, true},
		{"failure of a minion", data.NewMap("web1", data.NewMap("a", result(true)),
			"web2", data.NewMap("a", result(false))), false, false},
		{"a minion without results", data.NewMap("web1", data.NewMap()), false, false},
		{"extend is a list", data.NewMap("__extend__", []any{}, "a", result(true)), true, true},
		{"extend is no list", data.NewMap("__extend__", result(true)), false, true},
	} {
		if got := state.Succeeded(tt.results, false); got != tt.shallow {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.shallow)
		}
		if got := state.Succeeded(tt.results, true); got != tt.recurse {
			t.Errorf("%s, deep: %v, want %v", tt.name, got, tt.recurse)
		}
	}
}

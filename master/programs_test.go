package master

import (
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestPrograms(t *testing.T) {
	list, err := programs([]any{
		"/usr/local/bin/exporter --port 9175",
		[]any{"/usr/local/bin/exporter", "-v"},
		data.NewMap("name", "bridge", "command", []any{"bridge", int64(1)}, "cwd", "/srv",
			"env", data.NewMap("A", "b")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0].Name != "exporter" || list[1].Name != "exporter 2" ||
		list[2].Name != "bridge" {
		t.Fatalf("programs = %+v", list)
	}
	if want := []string{"/bin/sh", "-c",
		"/usr/local/bin/exporter --port 9175"}; !slices.Equal(list[0].Argv, want) {
		t.Errorf("a text: %q, want %q", list[0].Argv, want)
	}
	if want := []string{"bridge", "1"}; !slices.Equal(list[2].Argv, want) ||
		list[2].Dir != "/srv" || !slices.Equal(list[2].Env, []string{"A=b"}) {
		t.Errorf("a map: %+v", list[2])
	}
	if list, err := programs(nil); err != nil || list != nil {
		t.Errorf("none: %v %v", list, err)
	}
}

func TestProgramsThatAreRefused(t *testing.T) {
	for want, option := range map[string]any{
		"entry 1: cdn.Purger is a Python class":  []any{"cdn.Purger"},
		"entry 2: there is no command":           []any{"/bin/true", data.NewMap("name", "x")},
		"comand is unknown":                      []any{data.NewMap("comand", "x")},
		"expected a list of commands":            "exporter",
		"a command is a text or a list of words": []any{int64(3)},
		"env: expected a mapping":                []any{data.NewMap("command", "x", "env", "A=b")},
	} {
		if _, err := programs(option); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data.Repr(option), err, want)
		}
	}
}

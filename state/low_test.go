package state_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/yaml"
)

// A list that stands twice in the context of a state, by an alias of YAML, is one list in its chunk,
// so that a template which writes the context as YAML writes the alias again, as in Salt.
func TestLowKeepsAliases(t *testing.T) {
	list := []any{"amd64"}
	high := data.NewMap("dump", data.NewMap("__sls__", "s", "__env__", "base", "file", []any{
		data.NewMap("context", data.NewMap("a", list, "b", list)), "managed"}))
	chunks := state.Low(high)
	if len(chunks) != 1 {
		t.Fatalf("%d chunks, want 1", len(chunks))
	}
	text, err := yaml.Dump(chunks[0].Value("context"), yaml.DumpOptions{})
	if want := "a: &id001\n- amd64\nb: *id001\n"; err != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
	chunks[0].Value("context").(*data.Map).Value("a").([]any)[0] = "arm64"
	if list[0] != "amd64" {
		t.Error("the chunk shares the list with the high data")
	}
}

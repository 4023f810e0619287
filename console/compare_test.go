package console

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// TestTrimmedResultsAreNotTheSame compares results that the event bus has trimmed.
func TestTrimmedResultsAreNotTheSame(t *testing.T) {
	whole := func(v any) *results {
		return &results{jobRecord: &jobRecord{Fun: "cmd.run"}, returns: data.NewMap("m1", data.NewMap("return", v))}
	}
	cut, inside := whole("VALUE_TRIMMED"), whole(data.NewMap("a", data.NewMap("b", "VALUE_TRIMMED")))
	for _, pair := range [][2]*results{{cut, cut}, {inside, inside}, {cut, whole("text")}, {whole("text"), inside}} {
		row := (&comparison{}).minion("m1", pair[0], pair[1])
		if row.Word == "same" || !row.Differs() {
			t.Errorf("%s and %s: %s", data.Repr(pair[0].returns), data.Repr(pair[1].returns), row.Word)
		}
	}
	if row := (&comparison{}).minion("m1", whole("text"), whole("text")); row.Differs() {
		t.Errorf("equal results: %s", row.Word)
	}
}

// TestPredictedNewFile compares the test of a file that is not there with what was done.
func TestPredictedNewFile(t *testing.T) {
	row := func(word string, changes *data.Map) *stateRow {
		return &stateRow{Word: word, Class: "change", changes: changes}
	}
	test := row("would change", data.NewMap("newfile", "/etc/motd"))
	for _, c := range []struct {
		name string
		done *data.Map
		want string
	}{
		{"the file is new", data.NewMap("diff", "New file", "mode", "0644"), "done as predicted"},
		{"the file was there", data.NewMap("diff", "--- \n+++ \n"), "changes differ"},
	} {
		if word, _ := (&comparison{Predicted: true}).state(test, row("changed", c.done)); word != c.want {
			t.Errorf("%s: %s, want %s", c.name, word, c.want)
		}
	}
	if word, _ := (&comparison{}).state(test, row("changed", data.NewMap("diff", "New file"))); word == "done as predicted" {
		t.Error("two jobs of which none applies the other: done as predicted")
	}
}

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

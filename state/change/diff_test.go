package change

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestDeepDiff(t *testing.T) {
	m := data.NewMap
	for _, c := range []struct{ before, after, want *data.Map }{
		{m(), m(), m()},
		{m("a", 1), m("a", 1), m()},
		{m("a", 1), m("a", 2), m("old", m("a", 1), "new", m("a", 2))},
		{m("a", 1), m("b", 2), m("old", m("a", 1), "new", m("b", 2))},
		{m("a", 1, "id", 1), m("a", 1, "id", 2), m()},
		{m("a", m("b", 1, "c", 2)), m("a", m("b", 1, "c", 3)), m("old", m("a", m("c", 2)), "new", m("a", m("c",
			3)))},
		{m("a", m("b", 1)), m("a", m("b", 1, "c", 3)), m("old", m("a", m()), "new", m("a", m("c", 3)))},
		{m("a", m("id", 1)), m("a", m("id", 2)), m()},
		{m("a", m("b", 1)), m("a", "x"), m("old", m("a", m("b", 1)), "new", m("a", "x"))},
	} {
		for range 2 { // the arguments stay as they are
			if got := DeepDiff(c.before, c.after, "id"); !data.Equal(got, c.want) {
				t.Errorf("%s, %s: %s, want %s", data.Repr(c.before), data.Repr(c.after), data.Repr(got),
					data.Repr(c.want))
			}
		}
	}
}

package payload

import (
	"errors"
	"strconv"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestNamedFieldsAreBounded splits maps for anybody: the number of names is bounded before memory
// is made for them, that of the values within them is not.
func TestNamedFieldsAreBounded(t *testing.T) {
	named := func(n int, value any) []byte {
		m := data.NewMap()
		for i := range n {
			m.Set(strconv.Itoa(i), value)
		}
		b, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if f, err := ParseFields(named(256, make([]any, 1000)), SplitLimits()); err != nil || len(f) != 256 {
		t.Errorf("256 names: %d fields, %v", len(f), err)
	}
	if _, err := ParseFields(named(257, true), SplitLimits()); !errors.Is(err, ErrLimit) {
		t.Errorf("257 names: %v, want ErrLimit", err)
	}
	if _, err := ParseFields(named(257, true), WireLimits()); err != nil {
		t.Errorf("257 names of a known peer: %v", err)
	}
	if _, err := ParseEnvelope(named(65, true), WireLimits()); !errors.Is(err, ErrLimit) {
		t.Errorf("an envelope of 65 fields: %v, want ErrLimit", err)
	}
}

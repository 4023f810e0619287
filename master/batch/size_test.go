package batch

import (
	"errors"
	"testing"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		text  string
		total int
		want  int
	}{
		{"3", 10, 3}, {"30", 10, 30}, {"10%", 100, 10}, {"%10", 100, 10}, {"25%", 10, 2}, {"1%", 10,
			1}, {"12.5%", 80, 10}, {"100%", 7, 7}, {"50%", 0, 1}, {" 2 ", 5, 2},
	} {
		s, err := ParseSize(c.text)
		if err != nil {
			t.Errorf("ParseSize(%q): %v", c.text, err)
			continue
		}
		if got := s.Of(c.total); got != c.want {
			t.Errorf("%q of %d minions: %d, want %d", c.text, c.total, got, c.want)
		}
	}
	for _, text := range []string{"", "0", "-1", "0%", "-5%", "%", "NaN%", "Inf%", "ten", "1.5", "1e300%"} {
		if s, err := ParseSize(text); !errors.Is(err, ErrSize) {
			t.Errorf("ParseSize(%q) = %v, %v; want an error", text, s, err)
		}
	}
}

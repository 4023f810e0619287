package transport

import "testing"

func TestBudget(t *testing.T) {
	b := NewBudget(80)
	for _, tt := range []struct {
		name string
		take func(int) bool
		n    int
		want bool
	}{
		{"early, within an eighth", b.TakeEarly, 10, true},
		{"early, above an eighth", b.TakeEarly, 1, false},
		{"the rest", b.Take, 70, true},
		{"above all", b.Take, 1, false},
	} {
		if got := tt.take(tt.n); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	b.Give(75)
	if !b.TakeEarly(5) || b.TakeEarly(1) {
		t.Error("what was given back does not count again")
	}
	if none := NewBudget(-1); !none.TakeEarly(1<<40) || !none.Take(1<<40) {
		t.Error("a budget without a limit refuses")
	}
}

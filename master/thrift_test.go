package master

import "testing"

// TestMemoryIsGivenBackAfterAStorm holds when it is: not in the storm, once after it, and not for a little.
func TestMemoryIsGivenBackAfterAStorm(t *testing.T) {
	var all uint64
	given := 0
	th := &thrift{allocated: func() uint64 { return all }, giveBack: func() { given++ }}
	for i, step := range []struct {
		more uint64
		want int
	}{
		{1 << 20, 0}, {100 << 20, 0}, {100 << 20, 0}, {1 << 20, 1}, {1 << 20, 1}, {8 << 20, 1}, {0, 1}, {40 << 20, 1}, {0, 2},
	} {
		all += step.more
		if err := th.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if given != step.want {
			t.Errorf("look %d: memory was given back %d times, want %d", i, given, step.want)
		}
	}
	given = 0
	if newThrift(func() { given++ }).giveBack(); given != 1 {
		t.Errorf("who gives back was called %d times", given)
	}
	if allocated() == 0 {
		t.Error("nothing is said to be allocated")
	}
}

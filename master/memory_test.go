package master

import "testing"

// TestMemoryIsReleasedAfterABurst checks when memory is released: not during the burst, once after
// it, and not for little.
func TestMemoryIsReleasedAfterABurst(t *testing.T) {
	var all uint64
	released := 0
	r := &memoryReleaser{allocated: func() uint64 { return all }, release: func() { released++ }}
	for i, step := range []struct {
		more uint64
		want int
	}{
		{1 << 20, 0}, {100 << 20, 0}, {100 << 20, 0}, {1 << 20, 1}, {1 << 20, 1}, {8 << 20, 1},
		{0, 1}, {40 << 20, 1}, {0, 2},
	} {
		all += step.more
		if err := r.releaseIfIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if released != step.want {
			t.Errorf("check %d: memory was released %d times, want %d", i, released, step.want)
		}
	}
	released = 0
	if newMemoryReleaser(func() { released++ }).release(); released != 1 {
		t.Errorf("free was called %d times", released)
	}
	if allocated() == 0 {
		t.Error("allocated returns 0")
	}
}

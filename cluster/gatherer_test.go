package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A shelf is where a gatherer under test stores.
type shelf struct {
	mu      sync.Mutex
	stored  []string      // the bodies of each batch
	hold    chan struct{} // batches wait for it to be closed
	largest int           // values that fit together; 0 means any number
	ended   int           // batches whose ctx ended
}

func (s *shelf) store(ctx context.Context, bodies [][]byte) (uint64, error) {
	select {
	case <-s.hold:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended++
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.largest > 0 && len(bodies) > s.largest {
		return 0, ErrTooLarge
	}
	var all []string
	for _, body := range bodies {
		all = append(all, string(body))
	}
	slices.Sort(all)
	s.stored = append(s.stored, strings.Join(all, " "))
	return uint64(len(s.stored)), nil
}

// A gathererBench adds values to a gatherer that stores on a shelf.
type gathererBench struct {
	*shelf
	g    *gatherer
	work sync.WaitGroup

	mu     sync.Mutex
	failed map[string]error
}

func newGathererBench(limit int) *gathererBench {
	s := &shelf{hold: make(chan struct{})}
	return &gathererBench{shelf: s, failed: map[string]error{},
		g: &gatherer{store: s.store, limit: func() int { return limit }}}
}

// add adds a value for which somebody waits until ctx ends.
func (b *gathererBench) add(ctx context.Context, body string) {
	b.work.Go(func() {
		if _, err := b.g.add(ctx, []byte(body)); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed[body] = err
		}
	})
	synctest.Wait()
}

// want holds what was stored, and that nothing is left.
func (b *gathererBench) want(t *testing.T, stored ...string) {
	t.Helper()
	b.work.Wait()
	synctest.Wait()
	if !slices.Equal(b.stored, stored) {
		t.Errorf("stored %q, want %q", b.stored, stored)
	}
	if b.g.workers != 0 || len(b.g.waiting) != 0 || b.g.bytes != 0 {
		t.Errorf("left: %d workers, %d values of %d bytes", b.g.workers, len(b.g.waiting), b.g.bytes)
	}
}

func TestGathererStoresTogetherWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		for _, body := range []string{"a", "b", "c", "d"} {
			b.add(t.Context(), body)
		}
		close(b.hold)
		b.want(t, "a", "b c d")
	})
}

func TestGathererHeedsItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		long := strings.Repeat("x", 600)
		for _, body := range []string{"a", "b" + long, "c" + long, "d"} {
			b.add(t.Context(), body)
		}
		close(b.hold)
		b.want(t, "a", "b"+long, "c"+long+" d")
	})
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1 << 20)
		for range mostTogether + 1 {
			b.add(t.Context(), "x")
		}
		if got := b.g.workers; got != 2 {
			t.Errorf("%d workers for a full batch, want 2", got)
		}
		close(b.hold)
		b.work.Wait()
		all := 0
		for _, s := range b.stored {
			n := len(strings.Fields(s))
			if n > mostTogether {
				t.Errorf("%d values are together", n)
			}
			all += n
		}
		if all != mostTogether+1 || len(b.failed) > 0 {
			t.Errorf("%d values are stored, want %d; failed: %v", all, mostTogether+1, b.failed)
		}
	})
}

func TestGathererDoesNotWaitForASlowBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		b.add(t.Context(), "a")
		time.Sleep(2 * slowBatch) //nolint:forbidigo // the clock of synctest
		b.add(t.Context(), "b")
		b.add(t.Context(), "c")
		if got := b.g.workers; got != 2 {
			t.Errorf("%d workers, want 2", got)
		}
		close(b.hold)
		b.work.Wait()
		slices.Sort(b.stored)
		b.want(t, "a", "b", "c")
	})
}

// TestGathererEndsWhatNobodyWaitsFor has everybody leave: before their values are being stored, and after.
func TestGathererEndsWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		first, endFirst := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		b.add(first, "a")
		b.add(second, "b")
		b.add(t.Context(), "c")
		endSecond()
		synctest.Wait()
		endFirst()
		synctest.Wait()
		close(b.hold)
		b.want(t, "c")
		if b.ended != 1 || !errors.Is(b.failed["a"], ErrUnavailable) || !errors.Is(b.failed["b"], ErrUnavailable) {
			t.Errorf("%d batches ended; %v", b.ended, b.failed)
		}
	})
}

// TestGathererCountsAValueOnce has somebody leave after a worker has taken the value, and before it is being
// stored.
func TestGathererCountsAValueOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		close(b.hold)
		gone, other := &gathered{body: []byte("gone"), done: make(chan stored, 1)},
			&gathered{body: []byte("other"), done: make(chan stored, 1)}
		b.g.begun = time.Now() // so that one worker is enough
		b.g.enter(gone)
		b.g.enter(other)
		values := b.g.next()
		b.g.leave(gone)
		if b.g.bytes != 0 {
			t.Errorf("%d bytes wait when a worker has taken all", b.g.bytes)
		}
		b.g.run(values)
		b.g.work()
		b.want(t, "other")
	})
}

// TestGathererStoresAloneWhatIsTooLargeTogether has somebody leave meanwhile, too.
func TestGathererStoresAloneWhatIsTooLargeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGathererBench(1000)
		b.largest = 1
		leaving, leave := context.WithCancel(t.Context())
		b.add(t.Context(), "a")
		for _, body := range []string{"b", "c"} {
			b.add(t.Context(), body)
		}
		b.add(leaving, "d")
		first := b.hold
		b.shelf.mu.Lock()
		b.hold = make(chan struct{}) // for what comes after the first
		b.shelf.mu.Unlock()
		close(first)
		synctest.Wait()
		leave()
		synctest.Wait()
		close(b.hold)
		b.want(t, "a", "b", "c")
		if len(b.failed) != 1 || b.failed["d"] == nil {
			t.Errorf("failed: %v", b.failed)
		}
	})
}

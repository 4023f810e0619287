package keyfiles

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestQueueTakesWhatHasChangedFirst(t *testing.T) {
	q := newQueue()
	for i := range 20 {
		q.addSlow(fmt.Sprint("slow", i))
	}
	q.add("slow3")
	q.add("fast")
	ids, more := q.take(3)
	if !more || len(ids) != 3 || !slices.Contains(ids, "fast") || !slices.Contains(ids, "slow3") {
		t.Errorf("take(3) = %q, %t", ids, more)
	}
	rest, more := q.take(100)
	if more || len(rest) != 18 || !q.empty() {
		t.Errorf("take(100) = %q, %t", rest, more)
	}
	one, two := errors.New("a"), errors.New("b")
	if !q.postpone("x", one) || q.postpone("x", one) || !q.postpone("x", two) {
		t.Error("a new reason is not told from an old one")
	}
	if !q.waits("x") || q.waiting() != 1 {
		t.Error("an id that waits is forgotten")
	}
	q.retry()
	if ids, _ := q.take(1); !slices.Equal(ids, []string{"x"}) {
		t.Errorf("take after retry = %q", ids)
	}
	q.done("x")
	if !q.empty() || q.waits("x") {
		t.Error("an id that is done waits")
	}
}

func TestLocksExclude(t *testing.T) {
	var l locks
	var all sync.WaitGroup
	counts := map[string]*int{"a": new(int), "b": new(int)}
	for i := range 200 {
		id := []string{"a", "b"}[i%2]
		all.Go(func() {
			defer l.lock(id)()
			*counts[id]++ // which the race detector watches
		})
	}
	all.Wait()
	if *counts["a"] != 100 || *counts["b"] != 100 || len(l.held) != 0 {
		t.Errorf("%d and %d of 100 each; %d are held", *counts["a"], *counts["b"], len(l.held))
	}
}

func TestADeletionIsConfirmedByASecondScan(t *testing.T) {
	g := gone{patience: time.Minute}
	now := time.Now()
	if g.note(nil, now); g.confirmed("web1", now) {
		t.Error("confirmed at once")
	}
	if g.confirmed("web1", now.Add(time.Hour)) {
		t.Error("confirmed without a scan")
	}
	g.note(nil, now)
	if !g.confirmed("web1", now) {
		t.Error("not confirmed by a second scan")
	}
	g.forget("web1")
	if g.confirmed("web1", now) {
		t.Error("a file that was there again is confirmed")
	}
}

func TestManyDeletionsWaitForQuiet(t *testing.T) {
	g := gone{patience: time.Minute}
	now := time.Now()
	ids := make([]string, 11)
	for i := range ids {
		ids[i] = fmt.Sprint("web", i)
	}
	g.note(ids[:10], now)
	g.note(nil, now)
	if !g.few() || !g.confirmed("web1", now) {
		t.Error("ten are many")
	}
	g.note(ids[10:], now)
	g.note(nil, now)
	if g.few() || g.confirmed("web1", now.Add(quiet-1)) {
		t.Error("eleven are few")
	}
	if !g.confirmed("web1", now.Add(quiet)) {
		t.Error("not confirmed when no more have gone for a second")
	}
	g.everything(true, now)
	g.everything(true, now.Add(30*time.Second))
	if g.confirmed("web1", now.Add(time.Minute-1)) || !g.confirmed("web1", now.Add(time.Minute)) {
		t.Error("all keys do not wait for a minute")
	}
	g.everything(false, now)
	if !g.confirmed("web1", now.Add(quiet)) {
		t.Error("waits for a minute when some are there again")
	}
}

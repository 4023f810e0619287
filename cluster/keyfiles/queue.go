package keyfiles

import (
	"sync"
	"time"
)

// A queue has the ids to reconcile. It is safe for concurrent use.
type queue struct {
	wake chan struct{} // has a value while there are ids

	mu    sync.Mutex
	ids   map[string]struct{}
	slow  map[string]struct{} // ids that come after those in ids: nobody is known to have changed them
	later map[string]string   // ids that wait for the next scan, with the reason
	down  bool                // NATS does not answer
}

func newQueue() queue {
	return queue{wake: make(chan struct{}, 1), ids: map[string]struct{}{}, slow: map[string]struct{}{},
		later: map[string]string{}}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// add queues an id.
func (q *queue) add(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ids[id] = struct{}{}
	q.signal()
}

// addSlow queues an id behind all others.
func (q *queue) addSlow(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slow[id] = struct{}{}
	q.signal()
}

// take removes at most n ids and reports whether there are more.
func (q *queue) take(n int) (ids []string, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, part := range []map[string]struct{}{q.ids, q.slow} {
		for id := range part {
			if len(ids) == n {
				return ids, true
			}
			delete(q.ids, id)
			delete(q.slow, id)
			ids = append(ids, id)
		}
	}
	return ids, false
}

// postpone lets an id wait for the next scan, and reports whether the reason is a new one.
func (q *queue) postpone(id string, why error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	text := why.Error()
	old := q.later[id]
	q.later[id] = text
	return text != old
}

// done ends the waiting of an id.
func (q *queue) done(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.later, id)
}

// retry queues the ids that wait.
func (q *queue) retry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range q.later {
		q.slow[id] = struct{}{}
	}
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.later)
}

// waits reports whether an id waits.
func (q *queue) waits(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.later[id]
	return ok
}

// empty reports whether no id is queued. Some may wait.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ids) == 0 && len(q.slow) == 0
}

// isDown records whether NATS answers, and reports whether that is new.
func (q *queue) isDown(down bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	changed := q.down != down
	q.down = down
	return changed
}

// locks exclude each other for one id. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the lock is free
}

// lock returns when no other call has the id, with the function that gives it back.
func (l *locks) lock(id string) (unlock func()) {
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]chan struct{}{}
		}
		free, taken := l.held[id]
		if !taken {
			free = make(chan struct{})
			l.held[id] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, id)
				close(free)
			}
		}
		l.mu.Unlock()
		<-free
	}
}

const (
	fewGone = 10
	quiet   = time.Second // without a further id that is gone, if they are many
)

// gone has the ids whose files have vanished since the last equality, until their deletion is
// confirmed. It is safe for concurrent use.
type gone struct {
	patience time.Duration // how long all accepted keys have to be gone

	mu    sync.Mutex
	scan  int
	since map[string]int // the scan that an id was missed in first
	last  time.Time      // when the last one was missed
	all   time.Time      // since when all accepted keys are gone; zero if they are not
}

func (g *gone) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.all = nil, time.Time{}
}

// note begins a scan that missed ids.
func (g *gone) note(ids []string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scan++
	for _, id := range ids {
		g.miss(id, now)
	}
}

func (g *gone) miss(id string, now time.Time) {
	if g.since == nil {
		g.since = map[string]int{}
	}
	if _, known := g.since[id]; !known {
		g.since[id], g.last = g.scan, now
	}
}

func (g *gone) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.since, id)
}

func (g *gone) has(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.since[id]
	return ok
}

// few reports whether so few are gone that an operator may have deleted them one by one.
func (g *gone) few() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.since) <= fewGone {
		g.all = time.Time{}
		return true
	}
	return false
}

// everything records whether all accepted keys are gone.
func (g *gone) everything(all bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !all:
		g.all = time.Time{}
	case g.all.IsZero():
		g.all = now
	}
}

// confirmed reports whether the files of an id were deleted, and not lost.
func (g *gone) confirmed(id string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.miss(id, now)
	switch {
	case g.since[id] >= g.scan:
		return false
	case len(g.since) <= fewGone:
		return true
	case !g.all.IsZero():
		return now.Sub(g.all) >= g.patience
	}
	return now.Sub(g.last) >= quiet
}

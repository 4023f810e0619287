package minion

import (
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"
)

// A lane does work in the order in which it comes, so much of it at once. What must wait is bounded in number and size.
type lane struct {
	most  int // at once
	room  int // waiting
	bytes int // waiting
	log   logrus.FieldLogger

	done sync.WaitGroup

	mu      sync.Mutex
	active  int
	waiting []errand
	size    int
}

// An errand is one piece of work.
type errand struct {
	do   func()
	size int
}

// add takes work, or reports that there is no room. Whether it has to wait is told too.
func (q *lane) add(do func(), size int) (waits, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.active < q.most:
		q.active++
		q.done.Go(func() { q.run(do) })
		return false, true
	case len(q.waiting) < q.room && q.size+size <= q.bytes:
		q.waiting = append(q.waiting, errand{do, size})
		q.size += size
		return true, true
	}
	return false, false
}

// run does work, and then what waits.
func (q *lane) run(do func()) {
	for do != nil {
		q.safely(do)
		do = q.next()
	}
}

// safely does one piece of work; a panic ends that piece alone.
func (q *lane) safely(do func()) {
	defer func() {
		if r := recover(); r != nil {
			q.log.Errorf("a job: panic: %v\n%s", r, debug.Stack())
		}
	}()
	do()
}

func (q *lane) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.active--
		q.waiting = nil
		return nil
	}
	first := q.waiting[0]
	q.waiting[0] = errand{}
	q.waiting = q.waiting[1:]
	q.size -= first.size
	return first.do
}

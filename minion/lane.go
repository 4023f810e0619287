package minion

import (
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"
)

// A lane runs work in order of arrival, up to parallel pieces at once. Waiting work is limited in
// number and size.
type lane struct {
	parallel   int // maximum number of running tasks
	maxWaiting int // maximum number of waiting tasks
	maxBytes   int // maximum total size of waiting tasks
	log        logrus.FieldLogger

	done sync.WaitGroup

	mu      sync.Mutex
	active  int
	waiting []task
	size    int
}

// A task is one piece of work.
type task struct {
	do   func()
	size int
}

// add runs or queues work. It reports whether the work has to wait, and ok is false if the queue is
// full.
func (q *lane) add(do func(), size int) (waits, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.active < q.parallel:
		q.active++
		q.done.Go(func() { q.run(do) })
		return false, true
	case len(q.waiting) < q.maxWaiting && q.size+size <= q.maxBytes:
		q.waiting = append(q.waiting, task{do, size})
		q.size += size
		return true, true
	}
	return false, false
}

// run runs do and then waiting work until there is none.
func (q *lane) run(do func()) {
	for do != nil {
		q.safely(do)
		do = q.next()
	}
}

// safely runs one piece of work and recovers from its panic.
func (q *lane) safely(do func()) {
	defer func() {
		if r := recover(); r != nil {
			q.log.Errorf("panic in a job: %v\n%s", r, debug.Stack())
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
	q.waiting[0] = task{}
	q.waiting = q.waiting[1:]
	q.size -= first.size
	return first.do
}

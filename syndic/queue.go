package syndic

import (
	"context"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

const (
	queueLimit   = 64 << 20 // bytes that wait for one upper master
	requestItems = 500      // returns or events in one request
	requestBytes = 8 << 20  // bytes of them, unless a single one is larger
	itemOverhead = 200      // estimated bytes of an item besides its contents
)

// An answer is the return of one minion to one job.
type answer struct {
	jid    job.ID
	minion string
	fun    data.Raw
	master data.Raw // master_id of the return, or nil
	body   data.Raw // map of the fields that an upper master gets
}

func (a *answer) size() int {
	return len(a.jid) + len(a.minion) + len(a.fun) + len(a.master) + len(a.body) + itemOverhead
}

// A queue holds what one upper master has not received yet: returns and events, at most limit bytes
// of both. Any goroutine may add to it, but only one takes from it.
type queue struct {
	limit int
	now   func() time.Time

	mu      sync.Mutex
	answers []*answer
	returns lane          // state of answers
	events  []data.Raw    // maps of tag and data
	others  lane          // state of events
	size    int           // bytes
	missed  int           // events that were dropped
	added   int           // events that were ever added
	settled int           // events that were ever sent or dropped
	stuck   bool          // the last request of events has failed
	changed chan struct{} // closed when settled or stuck changes
}

// A lane is the state of the returns or of the events in a queue.
type lane struct {
	count int
	since time.Time     // when it was last empty
	more  chan struct{} // signaled when something was added
}

// add counts items, and wakes the goroutine that takes them.
func (l *lane) add(count int, now time.Time) {
	if l.count == 0 {
		l.since = now
	}
	l.count += count
	signal(l.more)
}

func newQueue(limit int, now func() time.Time) *queue {
	return &queue{limit: limit, now: now, returns: lane{more: make(chan struct{}, 1)},
		others: lane{more: make(chan struct{}, 1)}, changed: make(chan struct{})}
}

// addAnswer adds a return. Events make room for it, the oldest first. It reports false if there is
// no room.
func (q *queue) addAnswer(a *answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size+a.size() > q.limit && len(q.events) > 0 {
		q.size -= len(q.events[0]) + itemOverhead
		q.events = q.events[1:]
		q.others.count--
		q.missed++
		q.settle(1)
	}
	if q.size+a.size() > q.limit && len(q.answers) > 0 {
		return false
	}
	q.answers = append(q.answers, a)
	q.size += a.size()
	q.returns.add(1, q.now())
	return true
}

// addEvent adds an event. If there is no room, or if there are more than most events, it is counted as
// missed.
func (q *queue) addEvent(e data.Raw, most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(e)+itemOverhead > q.limit || len(q.events) >= most {
		q.missed++
		return
	}
	q.events = append(q.events, e)
	q.size += len(e) + itemOverhead
	q.added++
	q.others.add(1, q.now())
}

// settle records that events were sent or dropped. The caller holds mu.
func (q *queue) settle(events int) {
	q.settled += events
	close(q.changed)
	q.changed = make(chan struct{})
}

// gone records that some of the events that takeEvents has returned were sent or dropped.
func (q *queue) gone(events int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stuck = false
	q.settle(events)
}

// setStuck records that events cannot be sent at the moment.
func (q *queue) setStuck() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stuck = true
	q.settle(0)
}

// awaitEvents waits, for at most the given time, until the events that are in the queue now were sent or
// dropped. It returns early if events cannot be sent at the moment.
func (q *queue) awaitEvents(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	q.mu.Lock()
	until := q.added
	q.mu.Unlock()
	for {
		q.mu.Lock()
		over, changed := q.stuck || q.settled >= until, q.changed
		q.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-changed:
		}
	}
}

// wait waits until a lane is not empty, and then until items have had time to gather.
func (q *queue) wait(ctx context.Context, l *lane, gather time.Duration) error {
	for {
		q.mu.Lock()
		empty, left := l.count == 0, gather-q.now().Sub(l.since)
		q.mu.Unlock()
		if !empty && left <= 0 {
			return nil
		}
		if err := l.pause(ctx, empty, left); err != nil {
			return err
		}
	}
}

// pause waits for an item if the lane is empty, and else until time has passed.
func (l *lane) pause(ctx context.Context, empty bool, left time.Duration) error {
	var done <-chan time.Time
	more := l.more
	if !empty {
		timer := time.NewTimer(left)
		defer timer.Stop()
		done, more = timer.C, nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-more:
	case <-done:
	}
	return nil
}

// takeEvents removes and returns the oldest events for one request, at most the given number. missed is the
// number of events dropped since the last call. The caller must call gone or putBack.
func (q *queue) takeEvents(most int) (events []data.Raw, missed int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	total, n := 0, 0
	for n < min(len(q.events), most, requestItems) && (n == 0 || total+len(q.events[n]) <= requestBytes) {
		total += len(q.events[n])
		n++
	}
	events = append(events, q.events[:n]...)
	q.events = q.events[n:]
	q.others.count -= n
	q.size -= total + n*itemOverhead
	missed, q.missed = q.missed, 0
	return events, missed
}

// putBack adds events before all others, as far as there is room; the rest is missed.
func (q *queue) putBack(events []data.Raw) {
	q.mu.Lock()
	defer q.mu.Unlock()
	total := 0
	for _, e := range events {
		total += len(e) + itemOverhead
	}
	if q.size+total > q.limit {
		q.missed += len(events)
		q.settle(len(events))
		return
	}
	q.events = append(events, q.events...)
	q.size += total
	q.others.add(len(events), q.now())
}

// peek returns the oldest returns, at most n and as many as fit into one request. They stay in the
// queue.
func (q *queue) peek(n int) []*answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	total, count := 0, 0
	for count < len(q.answers) && count < n &&
		(count == 0 || total+q.answers[count].size() <= requestBytes) {
		total += q.answers[count].size()
		count++
	}
	return append([]*answer(nil), q.answers[:count]...)
}

// remove removes the oldest n returns, which peek has returned.
func (q *queue) remove(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, a := range q.answers[:n] {
		q.size -= a.size()
		q.answers[i] = nil
	}
	q.answers = q.answers[n:]
	q.returns.count -= n
}

// drain removes and returns the returns for which want reports true.
func (q *queue) drain(want func(*answer) bool) []*answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*answer
	kept := make([]*answer, 0, len(q.answers))
	for _, a := range q.answers {
		if want(a) {
			q.size -= a.size()
			out = append(out, a)
		} else {
			kept = append(kept, a)
		}
	}
	q.answers, q.returns.count = kept, len(kept)
	return out
}

// waiting returns the number of returns in the queue.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.answers)
}

// hasRoom reports whether at least half of the queue is free, so that reading further returns pays.
func (q *queue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size <= q.limit/2
}

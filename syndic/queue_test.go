package syndic

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

func answerOf(jid, minion string, size int) *answer {
	return &answer{jid: job.ID(jid), minion: minion, body: bytes.Repeat([]byte{0xc0}, size)}
}

// TestQueueIsBounded fills a queue: returns push events out, and what does not fit is refused or counted.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue(10_000, time.Now)
	for range 100 {
		q.addEvent(make(data.Raw, 800), 1000_000)
	}
	if q.size > 10_000 || q.missed != 90 {
		t.Errorf("%d bytes, %d events missed", q.size, q.missed)
	}
	taken := 0
	for i := range 100 {
		if q.addAnswer(answerOf("1", fmt.Sprint(i), 700)) {
			taken++
		}
	}
	if q.size > 10_000 || len(q.events) != 0 || taken < 9 || taken > 11 {
		t.Errorf("%d bytes, %d events, %d returns", q.size, len(q.events), taken)
	}
	q.putBack([]data.Raw{make(data.Raw, 9000)})
	if q.size > 10_000 || len(q.events) != 0 {
		t.Error("an event that does not fit was put back")
	}
	q.remove(taken)
	if q.size != 0 || q.waiting() != 0 {
		t.Errorf("an empty queue has %d bytes", q.size)
	}
	if !q.addAnswer(answerOf("1", "large", 20_000)) {
		t.Error("a return larger than the limit does not fit into an empty queue")
	}
}

func TestRequestsAreBounded(t *testing.T) {
	q := newQueue(queueLimit, time.Now)
	for i := range 1200 {
		q.addAnswer(answerOf("1", fmt.Sprint(i), 10))
		q.addEvent(make(data.Raw, 10), 1000_000)
	}
	if n := len(q.peek(requestItems)); n != 500 {
		t.Errorf("%d returns in a request", n)
	}
	if events, _ := q.takeEvents(requestItems); len(events) != 500 {
		t.Errorf("%d events in a request", len(events))
	}
	q = newQueue(queueLimit, time.Now)
	for i := range 10 {
		q.addAnswer(answerOf("1", fmt.Sprint(i), 3<<20))
		q.addEvent(make(data.Raw, 3<<20), 1000_000)
	}
	if n := len(q.peek(requestItems)); n != 2 {
		t.Errorf("%d returns of 3 MiB in a request", n)
	}
	if events, _ := q.takeEvents(requestItems); len(events) != 2 {
		t.Errorf("%d events of 3 MiB in a request", len(events))
	}
}

func TestQueueGathersItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(queueLimit, time.Now)
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { q.addAnswer(answerOf("1", "a", 1)) })
		time.AfterFunc(time.Minute+time.Second/4, func() { q.addAnswer(answerOf("1", "b", 1)) })
		if err := q.wait(t.Context(), &q.returns, time.Second/2); err != nil || time.Since(begun) != time.Minute+time.Second/2 {
			t.Errorf("wait = %v after %v", err, time.Since(begun))
		}
		if n := len(q.peek(10)); n != 2 {
			t.Errorf("%d returns", n)
		}
		// what is left does not wait again
		q.remove(1)
		begun = time.Now()
		if err := q.wait(t.Context(), &q.returns, time.Second/2); err != nil || time.Since(begun) != 0 {
			t.Errorf("wait = %v after %v", err, time.Since(begun))
		}
	})
}

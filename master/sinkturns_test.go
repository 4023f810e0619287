package master

import (
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// testHold is how long members of a test keep events.
const testHold = time.Minute

// sinkRig returns turns on a clock of the test.
func sinkRig(now *time.Time) *sinkTurns {
	return &sinkTurns{name: "test", now: func() time.Time { return *now }, lead: newLeadership(),
		life: testHold, done: map[uint64]time.Time{}}
}

func numbered(i, size int) eventbus.Event {
	return eventbus.Event{Tag: fmt.Sprint("event/", i), Data: make(data.Raw, size)}
}

// TestKeptEventsAreBounded keeps events for the next leader: not more than 64 MiB, not more than 10,000,
// and none for more than a minute.
func TestKeptEventsAreBounded(t *testing.T) {
	now := time.Now()
	s, kept := sinkRig(&now), &keptEvents{}
	for i := range 100 {
		s.hold(kept, numbered(i, 1<<20))
		if kept.bytes > heldBytes {
			t.Fatalf("%d bytes are kept", kept.bytes)
		}
	}
	if last := kept.list[len(kept.list)-1]; last.event.Tag != "event/99" || len(kept.list) < 31 {
		t.Errorf("%d events are kept, the last is %s", len(kept.list), last.event.Tag)
	}
	now = now.Add(testHold)
	s.hold(kept, numbered(100, 1))
	if len(kept.list) != 1 {
		t.Errorf("%d events are kept after a minute", len(kept.list))
	}
	for i := range mostHeld + 10 {
		s.hold(kept, numbered(i, 1))
	}
	size := 0
	for _, k := range kept.list {
		size += k.size()
	}
	if n := len(kept.list); n > mostHeld || n < mostHeld/2 || size != kept.bytes {
		t.Errorf("%d events are kept, of %d bytes, counted are %d", n, size, kept.bytes)
	}
}

// TestStoredEventsAreDroppedFirst fills what is kept with events that the leader has stored, but for the
// oldest one.
func TestStoredEventsAreDroppedFirst(t *testing.T) {
	now := time.Now()
	s, kept := sinkRig(&now), &keptEvents{}
	s.hold(kept, numbered(0, 1))
	for i := range mostHeld {
		e := numbered(i+1, 1)
		s.heard([]uint64{eventID(e)})
		s.hold(kept, e)
	}
	if len(kept.list) != 1 || kept.list[0].event.Tag != "event/0" {
		t.Errorf("%d events are kept", len(kept.list))
	}
	now = now.Add(2*testHold + time.Second)
	s.heard([]uint64{1})
	if len(s.done) != 1 || len(s.order) != 1 {
		t.Errorf("%d stored events are remembered", len(s.done))
	}
}

// TestStoredEventsAreBounded has the leader tell of more stored events than are remembered. Some come twice.
func TestStoredEventsAreBounded(t *testing.T) {
	now := time.Now()
	s := sinkRig(&now)
	const n = mostDone + 1000
	for i := range uint64(n) {
		s.heard([]uint64{i, i / 2})
	}
	if _, last := s.done[n-1]; !last || len(s.done) > mostDone || len(s.order) != len(s.done) {
		t.Errorf("%d stored events are remembered, in an order of %d", len(s.done), len(s.order))
	}
}

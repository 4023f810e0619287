package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/schedule"
)

// fired returns an event as a bus of its own carries it. A here event is fired by each member.
func fired(t *testing.T, here bool, tag string, at time.Time, m *data.Map) eventbus.Event {
	t.Helper()
	b := newBase(config.DefaultMaster(), Options{Now: func() time.Time { return at }, Log: silent(t)}, nil)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Private: true})
	defer s.Close()
	if here {
		must(t, b.bus.FireHere(tag, m))
	} else {
		must(t, b.bus.Fire(tag, m))
	}
	e, err := s.Next(t.Context())
	must(t, err)
	return e
}

// TestNumbersOfEvents compares the numbers of events. That of an event that each member fires does not
// depend on its stamp.
func TestNumbersOfEvents(t *testing.T) {
	now := time.Now()
	m := data.NewMap("id", "web1")
	if a, b := fired(t, true, "x", now, m), fired(t, true, "x", now.Add(time.Second), m); eventID(a) != eventID(b) {
		t.Error("an event that two members fire has two numbers")
	}
	seen := map[uint64]string{}
	for name, e := range map[string]eventbus.Event{
		"shared": fired(t, false, "x", now, m), "later": fired(t, false, "x", now.Add(time.Second), m),
		"own": fired(t, true, "x", now, m), "other tag": fired(t, true, "y", now, m),
		"other data": fired(t, true, "x", now, data.NewMap("id", "web2")),
	} {
		if other, ok := seen[eventID(e)]; ok {
			t.Errorf("%s has the number of %s", name, other)
		}
		seen[eventID(e)] = name
	}
}

// TestNumbersOfEventsAreSHA256 compares a number with the sum that sha256sum prints.
func TestNumbersOfEventsAreSHA256(t *testing.T) {
	const want = 0x909ac45e43991119 // as sha256sum begins for printf '\x02abc'
	if got := eventID(eventbus.Event{Tag: "ab", Data: data.Raw("c")}); got != want {
		t.Errorf("eventID = %#x, want %#x", got, uint64(want))
	}
}

// A slate takes what notes save, one write after the other, in memory.
type slate struct {
	mu     sync.Mutex
	writes int
	last   []byte
	fault  error         // of the next writes
	hold   chan struct{} // each write takes something from it; nil holds nothing up
	begun  chan struct{} // each write puts something into it; nil for none
}

func (s *slate) Save(ctx context.Context, step []byte) error {
	if s.begun != nil {
		s.begun <- struct{}{}
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fault == nil {
		s.last = step
	}
	return s.fault
}

func (s *slate) set(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// record returns what was saved last.
func (s *slate) record(t *testing.T) (r onceRecord) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	must(t, typed.Unmarshal(s.last, payload.WireLimits(), &r))
	return r
}

func slateNotes() (*onceNotes, *slate) {
	s := &slate{}
	return &onceNotes{now: time.Now, hold: testHold, fence: s}, s
}

// TestNotesThatAreNotSaved has writes fail: nothing of them is in what is saved next.
func TestNotesThatAreNotSaved(t *testing.T) {
	o, s := slateNotes()
	must(t, o.note(t.Context(), eventNote{ID: 1, Next: 1}))
	tick := schedule.Call{Name: "tick", Raw: data.NewMap("minutes", int64(5)), Due: time.Now()}
	for _, fault := range []error{cluster.ErrFull, cluster.ErrUnavailable} {
		s.set(fault)
		for _, n := range []eventNote{{ID: 1, Next: 2}, {ID: 2, Done: true}} {
			if err := o.note(t.Context(), n); !errors.Is(err, fault) {
				t.Errorf("note = %v, want %v", err, fault)
			}
		}
		if ran, err := o.begin(t.Context(), tick); ran || !errors.Is(err, fault) {
			t.Errorf("begin = %v, %v, want %v", ran, err, fault)
		}
	}
	s.set(nil)
	must(t, o.mayLead(t.Context()))
	if r := s.record(t); len(r.Ran) != 0 || len(r.Events) != 1 || r.Events[0].Next != 1 {
		t.Errorf("saved is %+v", r)
	}
	if n := o.event(2); n.Done || o.event(1).Next != 1 {
		t.Errorf("known is %+v, %+v", o.event(1), n)
	}
	if ran, err := o.begin(t.Context(), tick); !ran || err != nil {
		t.Errorf("begin = %v, %v after the faults", ran, err)
	}
}

// TestNotesAreSavedTogether notes many events while a write takes its time: nobody who only reads waits,
// and one more write saves them all.
func TestNotesAreSavedTogether(t *testing.T) {
	o, s := slateNotes()
	s.hold, s.begun = make(chan struct{}), make(chan struct{}, 10)
	var work sync.WaitGroup
	note := func(ctx context.Context, id uint64) {
		work.Go(func() {
			if err := o.note(ctx, eventNote{ID: id, Done: true}); !errors.Is(err, ctx.Err()) {
				t.Errorf("note %d = %v, want %v", id, err, ctx.Err())
			}
		})
	}
	first, cancel := context.WithCancel(t.Context())
	note(first, 0)
	<-s.begun
	const n = 100
	for id := range uint64(n) {
		note(t.Context(), id+1)
	}
	for waiting := 0; waiting < n; runtime.Gosched() {
		o.mu.Lock()
		waiting = len(o.queue)
		o.mu.Unlock()
	}
	if o.event(1).Done || len(o.done()) > 0 {
		t.Error("what is not saved is known")
	}
	cancel() // the first write ends, with its caller
	<-s.begun
	s.hold <- struct{}{}
	work.Wait()
	if r := s.record(t); s.writes != 1 || len(r.Events) != n || o.event(0).Done || !o.event(n).Done {
		t.Errorf("%d events in %d writes", len(r.Events), s.writes)
	}
}

// TestNotesAreTrimmed keeps notes for the time in which another member may have the event, and at most
// 2000, of which those that have not ended stay.
func TestNotesAreTrimmed(t *testing.T) {
	now := time.Now()
	var r onceRecord
	for i := range mostNotes + 10 {
		r.Events = append(r.Events, eventNote{ID: uint64(i), Done: i > 4, at: now})
	}
	r.trim(now.Add(testHold), testHold)
	if r.find(4) < 0 || r.find(14) >= 0 || r.find(15) < 0 || len(r.Events) != mostNotes {
		t.Errorf("%d notes are left, from %+v", len(r.Events), r.Events[0])
	}
	r.trim(now.Add(2*testHold+time.Second), testHold)
	same(t, "notes after a while", len(r.Events), 5)
	r.trim(now.Add(begunLife+time.Second), testHold)
	same(t, "notes in the end", len(r.Events), 0)
}

// TestEventsAreKeptForALongLease has long leases: an event is kept until the next member leads, also if the
// first one that tries cannot begin. That its reactions have ended is remembered for longer.
func TestEventsAreKeptForALongLease(t *testing.T) {
	for _, lease := range []time.Duration{10 * time.Second, 2 * time.Minute, time.Hour} {
		gap := lease + prepareTime + leadPause + prepareTime
		synctest.Test(t, func(t *testing.T) {
			r, _, lead := turnsRig(t)
			r.life = holdTime(lease)
			starts := 0
			r.Wait(eventbus.Event{Tag: "x"}, func() { starts++ })
			time.Sleep(gap) //nolint:forbidigo // the clock of synctest
			r.Wait(eventbus.Event{Tag: "y"}, func() { starts++ })
			lead()()
			same(t, "reactions started", starts, 2)
		})
		now := time.Now()
		s, kept := sinkRig(&now), &keptEvents{}
		s.life = holdTime(lease)
		s.hold(kept, numbered(0, 1))
		s.heard([]uint64{eventID(numbered(1, 1))})
		now = now.Add(gap)
		s.heard(nil)
		s.hold(kept, numbered(1, 1))
		s.thin(kept)
		if len(kept.list) != 1 || kept.list[0].event.Tag != "event/0" {
			t.Errorf("with a lease of %s %d events are kept", lease, len(kept.list))
		}
		notes := onceRecord{Events: []eventNote{{ID: 1, Done: true}, {ID: 2}}}
		notes.trim(time.Time{}.Add(gap), holdTime(lease))
		same(t, "notes of events", len(notes.Events), 2)
	}
}

// TestOrderOfHeldEventsIsBounded has one event wait for long, while the reactions to all others end.
func TestOrderOfHeldEventsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, lead := turnsRig(t)
		var starts []string
		wait := func(tag string) uint64 {
			e := eventbus.Event{Tag: tag}
			r.Wait(e, func() { starts = append(starts, tag) })
			return eventID(e)
		}
		wait("first")
		for i := range 5 * mostHeld {
			r.ended(wait(fmt.Sprint(i)))
		}
		wait("last")
		if n := len(r.order); n > 2*mostHeld+1 {
			t.Errorf("the order of two events has %d", n)
		}
		lead()()
		same(t, "started", starts, []string{"first", "last"})
	})
}

// turnsRig returns turns on notes in memory, and a function that makes this member lead. It must be called
// in a bubble.
func turnsRig(t *testing.T) (r *reactionTurns, s *slate, lead func() (end func())) {
	notes, s := slateNotes()
	b := newBase(config.DefaultMaster(), Options{Now: time.Now, Log: silent(t)}, nil)
	r = &reactionTurns{base: b, lead: newLeadership(), notes: notes, life: testHold, tell: func(uint64) {},
		held: map[uint64]heldEvent{}}
	number := uint64(0)
	return r, s, func() func() {
		number++
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			r.lead.lead(ctx, cluster.Token{Number: number}, r.begin)
			r.end()
			close(over)
		}()
		synctest.Wait()
		return func() { cancel(); <-over }
	}
}

// TestEventThatWaitsWhenTheLeadEnds has an event wait for a worker when the lead ends: its reactions are
// begun under the next lead, once.
func TestEventThatWaitsWhenTheLeadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, lead := turnsRig(t)
		event, starts := eventbus.Event{Tag: "x", Data: data.Raw("1")}, 0
		start := func() { starts++ }
		end := lead()
		r.Wait(event, start)
		end()
		if _, ok := r.Begin(t.Context(), event, start); ok || starts != 1 {
			t.Errorf("Begin is %v without the lead, after %d starts", ok, starts)
		}
		end = lead()
		turn, ok := r.Begin(t.Context(), event, start)
		if !ok || starts != 2 {
			t.Fatalf("Begin is %v under the next lead, after %d starts", ok, starts)
		}
		turn.End()
		end()
		lead()()
		if starts != 2 || !r.notes.event(eventID(event)).Done {
			t.Errorf("%d starts in the end", starts)
		}
	})
}

// TestTurnThatIsLost ends the lead between two reactions: the next lead goes on with the second.
func TestTurnThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, lead := turnsRig(t)
		event, starts := eventbus.Event{Tag: "x", Data: data.Raw("1")}, 0
		start := func() { starts++ }
		end := lead()
		turn, ok := r.Begin(t.Context(), event, start)
		if !ok || !turn.Step(turn.Context(), 0) {
			t.Fatal("the first reaction is refused")
		}
		go end()
		synctest.Wait()
		if turn.Step(turn.Context(), 1) {
			t.Error("the second reaction is begun after the lead")
		}
		turn.End()
		synctest.Wait()
		end = lead()
		defer end()
		if turn, ok = r.Begin(t.Context(), event, start); !ok || starts != 1 || turn.Next() != 1 {
			t.Fatalf("%v, %d starts under the next lead", ok, starts)
		}
		turn.End()
	})
}

// TestReactionsThatCannotBeNoted has the notes fail: a reaction waits as long as the cluster has no room,
// and one that is refused for good is not noted as done.
func TestReactionsThatCannotBeNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, lead := turnsRig(t)
		end := lead()
		event, starts := eventbus.Event{Tag: "x", Data: data.Raw("1")}, 0
		turn, _ := r.Begin(t.Context(), event, func() { starts++ })
		s.set(cluster.ErrFull)
		stepped := make(chan bool, 1)
		go func() { stepped <- turn.Step(turn.Context(), 0) }()
		time.Sleep(10*notePause + time.Millisecond)
		if len(stepped) > 0 {
			t.Error("the reaction does not wait")
		}
		s.set(nil)
		if !<-stepped {
			t.Error("the reaction is refused when there is room again")
		}
		s.set(fmt.Errorf("%w", cluster.ErrStale))
		if turn.Step(turn.Context(), 1) {
			t.Error("a reaction is begun under a later leader")
		}
		s.set(nil)
		turn.End()
		if n := r.notes.event(eventID(event)); n.Done || n.Next != 1 {
			t.Errorf("noted is %+v", n)
		}
		end()
		defer lead()()
		if starts != 1 {
			t.Errorf("%d starts under the next lead", starts)
		}
	})
}

// TestWaitingDoesNotBlock asks for a turn, and tells of the end of another, while notes are saved.
func TestWaitingDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s, lead := turnsRig(t)
		s.hold = make(chan struct{})
		event := eventbus.Event{Tag: "x", Data: data.Raw("1")}
		r.Wait(event, func() {})
		go r.notes.note(t.Context(), eventNote{ID: 7})
		synctest.Wait()
		end := lead() // begin looks at the notes
		started := false
		r.Wait(event, func() { started = true })
		r.ended(7)
		if !started {
			t.Error("the member that leads does not react")
		}
		s.hold <- struct{}{}
		end()
	})
}

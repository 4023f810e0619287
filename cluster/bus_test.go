package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func listen(t testing.TB, c *Cluster) *Listener {
	t.Helper()
	l, err := c.Bus().Listen()
	must(t, err)
	return l
}

func TestEventsReachTheOthers(t *testing.T) {
	s := one(t)
	a, b, c := s.join(t, "a"), s.join(t, "b"), s.join(t, "c")
	la, lb, lc := listen(t, a), listen(t, b), listen(t, c)
	must(t, a.Bus().Send([]byte("from a")))
	for name, l := range map[string]*Listener{"b": lb, "c": lc} {
		if event, err := l.Next(patiently(t)); string(event) != "from a" || err != nil {
			t.Errorf("%s gets %q, %v", name, event, err)
		}
	}
	must(t, b.Bus().Send([]byte("from b")))
	if event, err := la.Next(patiently(t)); string(event) != "from b" || err != nil {
		t.Errorf("a gets %q, %v: an own event must not come back", event, err)
	}
	if err := a.Bus().Send(make([]byte, 2<<20)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Send beyond the limit: %v, want %v", err, ErrTooLarge)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lc.Next(ctx); !errors.Is(err, context.Canceled) {
		// the event of b may be there already
		if _, err := lc.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next = %v, want %v", err, context.Canceled)
		}
	}
	must(t, lc.Close())
	if _, err := lc.Next(patiently(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after Close = %v, want %v", err, ErrClosed)
	}
}

func TestLostEventsAreCounted(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a"), s.join(t, "b")
	l := listen(t, b)
	const n = busQueue + 1000
	must(t, a.Bus().Send([]byte("0")))
	if _, err := l.Next(patiently(t)); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		must(t, a.Bus().Send(fmt.Append(nil, i)))
	}
	must(t, a.nc.FlushTimeout(patience))
	must(t, b.nc.FlushTimeout(patience)) // all have arrived at b, or were dropped there
	must(t, a.Bus().Send([]byte("end")))
	got := 0
	for event := range l.All(patiently(t)) {
		if string(event) == "end" {
			break
		}
		got++
		if got == busQueue { // there is room again
			must(t, a.Bus().Send([]byte("end")))
		}
	}
	if lost := l.Lost(); lost == 0 || uint64(got)+lost < n || uint64(got)+lost > n+1 {
		t.Errorf("%d events came and %d are counted as lost, of %d", got, lost, n)
	}
}

func TestForgedAndRepeatedEventsAreRefused(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a"), s.join(t, "b")
	l := listen(t, b)
	nc := s.servers.Connect(t)
	raw, err := nc.SubscribeSync(a.subject(forBus))
	must(t, err)
	must(t, nc.FlushTimeout(patience))
	must(t, a.Bus().Send([]byte("first")))
	m, err := raw.NextMsg(patience)
	must(t, err)
	must(t, nc.Publish(m.Subject, m.Data))
	must(t, nc.Publish(m.Subject, []byte("forged")))
	must(t, nc.FlushTimeout(patience))
	must(t, a.Bus().Send([]byte("second")))
	for _, want := range []string{"first", "second"} {
		if event, err := l.Next(patiently(t)); string(event) != want || err != nil {
			t.Errorf("Next = %q, %v, want %q", event, err, want)
		}
	}
	if l.Refused() != 2 || l.Lost() != 0 {
		t.Errorf("refused %d, lost %d, want 2 and 0", l.Refused(), l.Lost())
	}
}

// TestRecordedEventsAreRefused repeats events of a process that has ended to a Listener that has not
// heard of it: one of some time ago, and one that the Listener before it got.
func TestRecordedEventsAreRefused(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a"), s.join(t, "b")
	publish := func(number uint64, ago time.Duration, sender, text string) {
		t.Helper()
		body := sentEvent{number, time.Now().Add(-ago), sender, []byte(text)}.marshal()
		must(t, a.nc.Publish(a.subject(forBus), a.Bus().sealer.Seal(body, a.subject(forBus))))
	}
	first := listen(t, b)
	publish(7, time.Minute, "ended", "recorded")
	if event, err := first.Next(patiently(t)); string(event) != "recorded" || err != nil {
		t.Fatalf("Next = %q, %v", event, err)
	}
	must(t, first.Close())
	second := listen(t, b)
	publish(7, time.Minute, "ended", "repeated")
	publish(1, 6*time.Minute, "old", "old")
	publish(1, -6*time.Minute, "ahead", "ahead")
	publish(1, 4*time.Minute, "slow clock", "slow")
	publish(1, -4*time.Minute, "fast clock", "fast")
	publish(9, 0, "ended", "new")
	for _, want := range []string{"slow", "fast", "new"} {
		if event, err := second.Next(patiently(t)); string(event) != want || err != nil {
			t.Errorf("Next = %q, %v, want %q", event, err, want)
		}
	}
	if second.Refused() != 3 || second.Lost() != 0 {
		t.Errorf("refused %d, lost %d, want 3 and 0", second.Refused(), second.Lost())
	}
}

// TestManySendersAreRemembered lets more processes send than are remembered: none of them gets an event
// through twice, and there is room again once the events of the others are old.
func TestManySendersAreRemembered(t *testing.T) {
	now := time.Now()
	l := &Listener{seen: map[string]sender{}}
	for i := range busSenders {
		if !l.take(sentEvent{number: 1, at: now, sender: fmt.Sprint(i)}, now) {
			t.Fatalf("sender %d is refused", i)
		}
	}
	if l.take(sentEvent{number: 1, at: now, sender: "more"}, now) {
		t.Error("a sender is taken without room for its number")
	}
	if l.take(sentEvent{number: 1, at: now, sender: "0"}, now) {
		t.Error("an event is taken twice")
	}
	later := now.Add(busAge + time.Second)
	if !l.take(sentEvent{number: 1, at: later, sender: "more"}, later) || len(l.seen) != 1 {
		t.Errorf("the numbers of %d senders are kept", len(l.seen))
	}
}

func FuzzSentEvent(f *testing.F) {
	f.Add(sentEvent{3, time.UnixMilli(-5), "process", []byte("event")}.marshal())
	f.Add([]byte{1, 2, 200, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		e, ok := readEvent(body)
		if !ok {
			return
		}
		if len(e.sender)+len(e.content) > len(body) {
			t.Errorf("%d bytes of %d", len(e.sender)+len(e.content), len(body))
		}
		again, ok := readEvent(e.marshal())
		if !ok || again.number != e.number || !again.at.Equal(e.at) || again.sender != e.sender ||
			string(again.content) != string(e.content) {
			t.Errorf("%+v is read as %+v", e, again)
		}
	})
}

package eventbus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func next(t *testing.T, from interface {
	Next(context.Context) (Event, error)
}) Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	e, err := from.Next(ctx)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return e
}

func TestSubscribeFilters(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{
		Prefixes: []string{"salt/job/", "salt/auth"},
		Match:    func(tag string) bool { return !strings.HasSuffix(tag, "/new") },
	})
	defer sub.Close()
	for _, tag := range []string{"salt/key", "salt/job/1/new", "salt/job/1/ret/a", "x/salt/auth",
		"salt/auth"} {
		if err := b.Fire(tag, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"salt/job/1/ret/a", "salt/auth"} {
		if e := next(t, sub); e.Tag != want {
			t.Errorf("got %q, want %q", e.Tag, want)
		}
	}
}

// TestEventsThatNobodyReadsAreNotEncoded fires an event that cannot be encoded: Fire fails only if the event
// has a reader.
func TestEventsThatNobodyReadsAreNotEncoded(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{Prefixes: []string{"salt/job/"}})
	defer sub.Close()
	noMap := data.Raw{0x01}
	if err := b.FireMapHere("salt/auth", noMap); err != nil {
		t.Errorf("an event that nobody reads: %v", err)
	}
	if err := b.FireMapHere("salt/job/1/ret/a", noMap); err == nil {
		t.Error("an event that is read is no map, and fires")
	}
	load, err := payload.Marshal(data.NewMap("a", int64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.FireMapHere("salt/job/1/ret/a", load); err != nil {
		t.Fatal(err)
	}
	if e := next(t, sub); e.Tag != "salt/job/1/ret/a" || !e.Here {
		t.Errorf("got %q, here: %t", e.Tag, e.Here)
	}
}

func TestFireLeavesTheMapAlone(t *testing.T) {
	m := data.NewMap("a", int64(1))
	if err := New(Options{}).Fire("t", m); err != nil || m.Len() != 1 {
		t.Errorf("Fire: %v; the map has %d keys, want 1", err, m.Len())
	}
}

func TestFireRawKeepsBytes(t *testing.T) {
	b := New(Options{ZoneStamp: true, Now: func() time.Time { return time.Unix(1, 5000) }})
	sub := b.Subscribe(SubscribeOptions{})
	// encoded longer than needed, so that a second encoding would show
	fields := payload.Fields{{Key: "return", Value: data.Raw("\xd9\x01x")}}
	if err := b.FireRaw("t", fields); err != nil {
		t.Fatal(err)
	}
	e := next(t, sub)
	want := "\x82\xa6return\xd9\x01x\xa6_stamp\xd9\x201970-01-01T00:00:01.000005+00:00"
	if string(e.Data) != want {
		t.Errorf("data %q, want %q", e.Data, want)
	}
	if len(fields) != 1 {
		t.Error("the fields were changed")
	}
}

func TestFireRefusesTags(t *testing.T) {
	for _, tag := range []string{"", "a\n\nb", "a\n", "\xff", strings.Repeat("x", MaxTag+1)} {
		if err := New(Options{}).Fire(tag, nil); !errors.Is(err, ErrBadEvent) {
			t.Errorf("Fire(%q) = %v, want ErrBadEvent", clip(tag), err)
		}
	}
	for _, tag := range []string{"", "a b", "é", "a\nb", strings.Repeat("x", 1025)} {
		if err := CheckForeignTag(tag); !errors.Is(err, ErrBadEvent) {
			t.Errorf("CheckForeignTag(%q) = %v, want ErrBadEvent", clip(tag), err)
		}
	}
}

func TestSlowSubscriptionDropsAndTellsOnce(t *testing.T) {
	log, hook := test.NewNullLogger()
	b := New(Options{Log: log})
	sub := b.Subscribe(SubscribeOptions{Name: "slow", MaxEvents: 3})
	defer sub.Close()
	for i := range 10 {
		b.Fire(fmt.Sprint("t", i), nil)
	}
	if sub.Dropped() != 7 || len(hook.AllEntries()) != 1 {
		t.Errorf("dropped %d with %d log lines, want 7 with 1", sub.Dropped(), len(hook.AllEntries()))
	}
	for i := range 3 {
		if e := next(t, sub); e.Tag != fmt.Sprint("t", i) {
			t.Errorf("event %d is %q", i, e.Tag)
		}
	}
	if last := hook.LastEntry(); len(hook.AllEntries()) != 2 || last.Data["dropped"] != uint64(7) ||
		last.Level != logrus.WarnLevel {
		t.Errorf("log after catching up: %v", last)
	}
	b.Fire("again", nil)
	if e := next(t, sub); e.Tag != "again" || len(hook.AllEntries()) != 2 {
		t.Errorf("after catching up: %q, %d log lines", e.Tag, len(hook.AllEntries()))
	}
}

// TestNoticesUnderSteadyLoad fires two events for each one that the reader takes, so that its queue never
// runs empty: before it gets an event fired after a drop it gets a notice that counts the drop.
func TestNoticesUnderSteadyLoad(t *testing.T) {
	const most = 8
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{MaxEvents: most, Prefixes: []string{"t"}, Gaps: true})
	defer sub.Close()
	var want, missed, reported, notices int64 // want is the number of the next event if none is missing
	read := func() {
		e := next(t, sub)
		m, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if e.Tag == DroppedTag {
			notices++
			reported += m.Value("dropped").(int64)
			return
		}
		n := m.Value("n").(int64)
		missed, want = missed+n-want, n+1
		if missed > reported {
			t.Fatalf("event %d: %d events are missing before it, %d were reported", n, missed, reported)
		}
	}
	const rounds = 1000
	for i := range int64(rounds) {
		b.Fire("t", data.NewMap("n", 2*i))
		b.Fire("t", data.NewMap("n", 2*i+1))
		read()
		if n := sub.reader.n; n > most {
			t.Fatalf("%d events in a queue for %d", n, most)
		}
	}
	if notices < rounds/most/4 || notices > rounds/most*2 {
		t.Errorf("%d notices in %d reads from a queue of %d events", notices, rounds, most)
	}
	for sub.reader.n > 0 {
		read()
	}
	b.Fire("t", data.NewMap("n", int64(2*rounds)))
	read()
	if dropped := int64(sub.Dropped()); missed != reported || dropped != missed {
		t.Errorf("%d events are missing, %d were reported, %d dropped", missed, reported, dropped)
	}
}

// TestReadersLearnOfGaps checks that a reader that empties its queue gets one notice for each gap.
func TestReadersLearnOfGaps(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{MaxEvents: 2, Prefixes: []string{"t"}, Gaps: true})
	defer sub.Close()
	for range 2 {
		for i := range 5 {
			b.Fire(fmt.Sprint("t", i), nil)
		}
		for _, want := range []string{"t0", "t1"} {
			if e := next(t, sub); e.Tag != want {
				t.Errorf("event %q, want %s", e.Tag, want)
			}
		}
		e := next(t, sub)
		m, err := e.Map()
		if e.Tag != "salt/event/dropped" || err != nil || m.Value("dropped") != int64(3) {
			t.Errorf("after the gap: %q, %v, %v", e.Tag, m, err)
		}
	}
	b.Fire("t9", nil)
	if e := next(t, sub); e.Tag != "t9" {
		t.Errorf("event %q after the gaps", e.Tag)
	}
}

func TestQueueBoundsBytes(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{MaxBytes: 10_000})
	for range 10 {
		b.Fire("t", data.NewMap("x", strings.Repeat("y", 4000)))
	}
	if got := sub.Dropped(); got != 8 {
		t.Errorf("dropped %d, want 8", got)
	}
	big := b.Subscribe(SubscribeOptions{MaxBytes: 10})
	b.Fire("t", nil)
	next(t, big) // one event is always kept
}

func TestClosedSubscription(t *testing.T) {
	b := New(Options{})
	sub := b.Subscribe(SubscribeOptions{})
	b.Fire("before", nil)
	sub.Close()
	b.Fire("after", nil)
	if e := next(t, sub); e.Tag != "before" {
		t.Errorf("got %q", e.Tag)
	}
	if _, err := sub.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next = %v, want ErrClosed", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Subscribe(SubscribeOptions{}).Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v, want context.Canceled", err)
	}
}

package stream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
)

func TestHubReconnectsAndMarksTheGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := test.NewNullLogger()
		buses := []fakeBus{make(fakeBus, 1), nil, nil, nil, make(fakeBus, 1)}
		var dials []time.Duration
		begin := time.Now()
		hub := New(Options{Log: log, Dial: func(context.Context) (Source, error) {
			bus := buses[len(dials)]
			dials = append(dials, time.Since(begin))
			if bus == nil {
				return nil, errors.New("connection refused")
			}
			return bus, nil
		}})
		l := listen(t, hub, Filter{Tag: "salt/"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- hub.Run(ctx) }()

		buses[0] <- event(t, "salt/before")
		close(buses[0])
		buses[4] <- event(t, "salt/after")
		var got []string
		for range 3 {
			item, err := l.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, shown(item))
		}
		equalTags(t, got, "salt/before", "bus 0", "salt/after")
		equal(t, "times of dialing", fmt.Sprint(dials), "[0s 250ms 750ms 1.75s 3.75s]")

		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		var lines []string
		for _, e := range logged.AllEntries() {
			lines = append(lines, e.Level.String()+" "+e.Message)
		}
		equalTags(t, lines, "warning no connection to the master's event bus, trying again",
			"info connected to the master's event bus")
	})
}

// serveBus serves a master's bus in a directory until stop is called.
func serveBus(t *testing.T, sockets eventbus.Sockets) (bus *eventbus.Bus, stop func()) {
	t.Helper()
	bus = eventbus.New(eventbus.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- bus.Serve(ctx, sockets, eventbus.ServeOptions{Ready: func() { close(ready) }}) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("serve bus: %v", err)
	}
	return bus, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve bus: %v", err)
		}
	}
}

func TestHubReadsTheBusOfAMasterThatRestarts(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sockets := eventbus.MasterSockets(dir)
	connected := make(chan struct{}, 2)
	hub := New(Options{Dial: func(ctx context.Context) (Source, error) {
		c, err := eventbus.Dial(ctx, sockets, eventbus.ClientOptions{})
		if err != nil {
			return nil, err
		}
		connected <- struct{}{}
		return c, nil
	}})
	l := listen(t, hub, Filter{})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	for i, want := range []string{"", "bus 0"} {
		bus, stop := serveBus(t, sockets)
		if i == 0 {
			go func() { ended <- hub.Run(ctx) }()
		}
		<-connected
		if err := bus.Fire("salt/test", data.NewMap("n", int64(i))); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			item, err := l.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "notice", shown(item), want)
		}
		item, err := l.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := string(item.JSON())
		if !strings.HasPrefix(got, fmt.Sprintf(`{"data": {"n": %d, "_stamp": "`, i)) || item.Tag() != "salt/test" {
			t.Errorf("event %s", got)
		}
		stop()
	}
	end()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestPauseIsShortAfterALongConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var dials []time.Duration
		hub := New(Options{Dial: func(context.Context) (Source, error) {
			dials = append(dials, time.Since(begin).Round(time.Second))
			if len(dials) != 8 {
				return nil, errors.New("connection refused")
			}
			bus := make(fakeBus)
			time.AfterFunc(time.Hour, func() { close(bus) })
			return bus, nil
		}})
		ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Minute)
		defer stop()
		hub.Run(ctx) //nolint:errcheck // always nil
		if len(dials) < 9 || dials[7]-dials[6] != maxPause || dials[8]-dials[7] > time.Hour+time.Second {
			t.Errorf("dialed at %v", dials)
		}
	})
}

func TestRunEndsListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := make(fakeBus, 1)
		hub := New(Options{Dial: func(context.Context) (Source, error) { return bus, nil }})
		late, waiting := listen(t, hub, Filter{}), listen(t, hub, Filter{Tag: "none"})
		ended := make(chan error, 1)
		go func() {
			_, err := waiting.Next(t.Context())
			ended <- err
		}()
		ctx, stop := context.WithCancel(t.Context())
		go hub.Run(ctx) //nolint:errcheck // always nil
		bus <- event(t, "last")
		synctest.Wait()
		stop()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting listener got %v", err)
		}
		item, err := late.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "event left in the ring", item.Tag(), "last")
		if _, err := late.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after the last event: %v", err)
		}
	})
}

// A droppingBus is a fakeBus that has dropped events.
type droppingBus struct {
	fakeBus
	dropped *atomic.Uint64
}

func (d droppingBus) Dropped() uint64 { return d.dropped.Load() }

// TestEventsThatTheHubMissesAreTold checks that listeners learn of events that the connection has dropped,
// once.
func TestEventsThatTheHubMissesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := droppingBus{make(fakeBus, 3), &atomic.Uint64{}}
		hub := New(Options{Dial: func(context.Context) (Source, error) { return bus, nil }})
		l := listen(t, hub, Filter{})
		ctx, stop := context.WithCancel(t.Context())
		go hub.Run(ctx) //nolint:errcheck // always nil
		defer func() { stop(); synctest.Wait() }()
		for i, dropped := range []uint64{0, 7, 7} {
			bus.dropped.Store(dropped)
			bus.fakeBus <- event(t, fmt.Sprint("e", i))
			synctest.Wait()
		}
		for _, want := range []string{"e0", "e1", LostTag, "e2"} {
			item, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "tag", item.Tag(), want)
			if lost, ok := item.Lost(); ok && (lost.Events != 7 || lost.Reason != LostBus) {
				t.Errorf("lost: %+v", lost)
			}
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := listen(t, New(Options{}), Filter{}).Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v", err)
	}
}

func TestOneNoticeSaysHowManyEventsWereLost(t *testing.T) {
	hub := New(Options{MaxEvents: 4})
	l := listen(t, hub, Filter{Tag: "salt/1*"})
	for i := range 14 {
		fire(t, hub, fmt.Sprintf("salt/%d", i))
	}
	equalTags(t, pending(t, l), "overrun 10", "salt/10", "salt/11", "salt/12", "salt/13")
	for i := range 3 {
		fire(t, hub, fmt.Sprintf("salt/1%d", i))
	}
	equalTags(t, pending(t, l), "salt/10", "salt/11", "salt/12")
	for range 5 {
		fire(t, hub, "salt/1")
	}
	equalTags(t, pending(t, l), "overrun 1", "salt/1", "salt/1", "salt/1", "salt/1")
}

func TestRingIsLimitedInBytes(t *testing.T) {
	hub := New(Options{MaxBytes: 10_000})
	l := listen(t, hub, Filter{})
	for range 6 {
		fire(t, hub, "e", "text", strings.Repeat("x", 3000))
	}
	equalTags(t, pending(t, l), "overrun 3", "e", "e", "e")

	fire(t, hub, "large", "text", strings.Repeat("x", 30_000))
	equalTags(t, pending(t, l), "large")
	if n := hub.ring.next - hub.ring.first; n != 1 {
		t.Errorf("%d events are kept beside one that is larger than the ring", n)
	}
}

func TestRingCountsJSON(t *testing.T) {
	hub := New(Options{MaxBytes: 10_000})
	l := listen(t, hub, Filter{})
	for range 3 {
		fire(t, hub, "e", "bytes", make([]byte, 1000)) // in JSON five times as long
	}
	for range 3 {
		if item, err := l.Next(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			item.JSON()
		}
	}
	if n := hub.ring.next - hub.ring.first; n != 1 || hub.ring.bytes < 5000 || hub.ring.bytes > 10_000 {
		t.Errorf("the ring has %d events of %d bytes", n, hub.ring.bytes)
	}
}

func TestListenersShareTheBytes(t *testing.T) {
	hub := New(Options{})
	a, b := listen(t, hub, Filter{}), listen(t, hub, Filter{Tag: "sal*"})
	fire(t, hub, "salt/x", "n", int64(1))
	one, _ := a.Next(t.Context())
	two, _ := b.Next(t.Context())
	equal(t, "JSON", string(one.JSON()), `{"data": {"n": 1}, "tag": "salt/x"}`)
	if &one.JSON()[0] != &two.JSON()[0] {
		t.Error("the event was encoded twice")
	}
}

func TestJSONOfUnusualData(t *testing.T) {
	keys := data.NewMap("number", "one", int64(1),
		data.NewMap([]byte("k"), []any{data.NewMap(nil, true)}))
	for _, tt := range []struct {
		name  string
		event eventbus.Event
		want  string
	}{
		{"text outside ASCII", event(t, "t", "k", "grün 雪"), `{"data": {"k": "grün 雪"}, "tag": "t"}`},
		{"ends of lines outside ASCII", event(t, "t", "k\u2028", "a\u0085b\u2029"),
			`{"data": {"k\u2028": "a\u0085b\u2029"}, "tag": "t"}`},
		{"bytes", event(t, "t", "k", []byte{0, 'a'}), `{"data": {"k": "b'\\x00a'"}, "tag": "t"}`},
		{"keys that JSON does not have", eventbus.Event{Tag: "t", Data: mustMarshal(t, keys)},
			`{"data": {"number": "one", "1": {"b'k'": [{"null": true}]}}, "tag": "t"}`},
		{"no map", eventbus.Event{Tag: "t", Data: data.Raw{0xc0}},
			`{"data": {"_error": "data of event \"t\": bad event: not a map"}, "tag": "t"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hub := New(Options{})
			l := listen(t, hub, Filter{})
			hub.add(newEntry(hub, tt.event))
			item, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "JSON", string(item.JSON()), tt.want)
		})
	}
}

func TestFilters(t *testing.T) {
	const jid = "20260102030405000006"
	tags := []string{jid, "salt/job/" + jid + "/new", "salt/job/" + jid + "/ret/m1", "salt/run/" + jid + "/ret",
		"salt/job/" + jid + "7/new", "salt/auth", "saltutil/x"}
	for _, tt := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all", Filter{}, tags},
		{"prefix", Filter{Tag: "salt/"}, tags[1:6]},
		{"glob", Filter{Tag: "salt/job/*/ret/*"}, tags[2:3]},
		{"glob is for the whole tag", Filter{Tag: "salt/[ar]"}, nil},
		{"job", Filter{Job: jid}, tags[:4]},
		{"job and prefix", Filter{Job: jid, Tag: "salt/run/"}, tags[3:4]},
		{"rights", Filter{Job: jid, May: func(tag string) bool { return !strings.Contains(tag, "/ret/") }},
			[]string{tags[0], tags[1], tags[3]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hub := New(Options{})
			l := listen(t, hub, tt.filter)
			for _, tag := range tags {
				fire(t, hub, tag)
			}
			equalTags(t, pending(t, l), tt.want...)
		})
	}
}

func TestLastEventID(t *testing.T) {
	hub := New(Options{MaxEvents: 5})
	for i := range 8 { // the ring has 4 to 8
		fire(t, hub, fmt.Sprint(i+1))
	}
	all := []string{"4", "5", "6", "7", "8"}
	for _, tt := range []struct {
		name, after string
		want        []string
	}{
		{"within the ring", hub.run + "-6", []string{"7", "8"}},
		{"the newest", hub.run + "-8", nil},
		{"just before the ring", hub.run + "-3", all},
		{"beyond the ring", hub.run + "-1", append([]string{"overrun 2"}, all...)},
		{"from before the first event", hub.run + "-0", append([]string{"overrun 3"}, all...)},
		{"of an earlier run", "17c0ffee-6", append([]string{"restart 0"}, all...)},
		{"of the future", hub.run + "-9", []string{"unknown 0"}},
		{"not ours", "42", []string{"unknown 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equalTags(t, pending(t, listen(t, hub, Filter{After: tt.after})), tt.want...)
		})
	}
	t.Run("of a notice", func(t *testing.T) {
		item, err := listen(t, hub, Filter{After: hub.run + "-1"}).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equalTags(t, pending(t, listen(t, hub, Filter{After: item.ID()})), all...)
	})
}

func TestLimitsOfListeners(t *testing.T) {
	hub := New(Options{MaxListeners: 3, MaxPerUser: 2})
	one := listen(t, hub, Filter{User: "ann"})
	listen(t, hub, Filter{User: "ann"})
	_, err := hub.Listen(Filter{User: "ann"})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.User != "ann" || limit.Max != 2 {
		t.Errorf("third listener of a user: %v", err)
	}
	listen(t, hub, Filter{User: "bob"})
	limit = nil
	if _, err = hub.Listen(Filter{User: "cat"}); !errors.As(err, &limit) || limit.User != "" || limit.Max != 3 {
		t.Errorf("fourth listener: %v", err)
	}
	one.Close()
	one.Close()
	listen(t, hub, Filter{User: "ann"})
	if _, err = hub.Listen(Filter{User: "cat"}); err == nil {
		t.Error("a listener that is closed twice frees two places")
	}
}

func TestListenersWithoutAUserAreLimitedTogether(t *testing.T) {
	hub := New(Options{MaxListeners: 3, MaxPerUser: 1})
	for range 3 {
		listen(t, hub, Filter{})
	}
	if _, err := hub.Listen(Filter{}); !errors.As(err, new(*LimitError)) {
		t.Errorf("fourth listener: %v", err)
	}
}

func TestPositions(t *testing.T) {
	for text, want := range map[string]string{
		"1a2b-7": "1a2b 7", "ffffffffffffffff-18446744073709551615": "ffffffffffffffff 18446744073709551615",
		"": "-", "-": "-", "1a-": "-", "-7": "-", "1A-7": "-", "01a-7": "-", "1a-07": "-",
		"1a--7": "-", "1a-+7": "-",
		"1a-7\n": "-", "1a-7-8": "-", "1a-18446744073709551616": "-", "0x1a-7": "-", "1_a-7": "-",
	} {
		run, n, ok := parsePosition(text)
		got := "-"
		if ok {
			got = fmt.Sprint(run, " ", n)
		}
		equal(t, "parsePosition of "+text, got, want)
	}
}

func mustMarshal(t testing.TB, m *data.Map) data.Raw {
	t.Helper()
	raw, err := payload.MarshalBin(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

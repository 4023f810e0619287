package master

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/returners"
)

// A sink takes events, unless it is away or does not like them.
type sink struct {
	mu     sync.Mutex
	away   bool
	hangs  bool
	bad    string // a tag that is refused
	got    []string
	calls  int
	closed bool
}

func (s *sink) ReturnEvents(ctx context.Context, events []returners.Event) error {
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.away {
		return errors.New("connection refused")
	}
	for _, e := range events {
		if e.Tag == s.bad {
			return fmt.Errorf("event %q: %w", e.Tag, returners.ErrRefused)
		}
	}
	for _, e := range events {
		s.got = append(s.got, e.Tag)
	}
	return nil
}

func (s *sink) Close() error { s.closed = true; return nil }

func (s *sink) set(change func()) { s.mu.Lock(); defer s.mu.Unlock(); change() }

func (s *sink) tags() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.got...)
}

// eventsTo runs an eventReturn until stop.
func eventsTo(
	t *testing.T, s *sink, most int, wait time.Duration, wants func(string) bool,
) (fire func(tag string), stop func(), hook *logtest.Hook) {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	bus := eventbus.New(eventbus.Options{})
	if wants == nil {
		wants = func(tag string) bool { return tag != "salt/event_listen/start" }
	}
	e := &eventReturn{sink: EventSink{"test",
		func(context.Context) (returners.EventReturner, error) { return s, nil }}, bus: bus,
		most: most, wait: wait, wants: wants, log: log}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.run(ctx) }()
	synctest.Wait()
	return func(tag string) {
			if err := bus.Fire(tag, data.NewMap("x", int64(1))); err != nil {
				t.Fatal(err)
			}
		}, func() {
			cancel()
			<-done
			if !s.closed {
				t.Error("the returner is not closed")
			}
		}, hook
}

func want(t *testing.T, s *sink, tags ...string) {
	t.Helper()
	synctest.Wait()
	if d := cmp.Diff(append([]string{}, tags...), s.tags()); d != "" {
		t.Errorf("events: -want +got\n%s", d)
	}
}

func TestEventsAreGivenAtOnceWithoutAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		fire, stop, _ := eventsTo(t, s, 0, 0, nil)
		fire("a")
		want(t, s, "a")
		fire("b")
		want(t, s, "a", "b")
		stop()
	})
}

func TestEventsWaitForTheQueueOrTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		fire, stop, _ := eventsTo(t, s, 3, 10*time.Second, nil)
		fire("a")
		fire("b")
		want(t, s)
		fire("c")
		want(t, s, "a", "b", "c")
		fire("d")
		time.Sleep(9 * time.Second)
		want(t, s, "a", "b", "c")
		time.Sleep(2 * time.Second)
		want(t, s, "a", "b", "c", "d")
		fire("e") // the end of the master
		stop()
		want(t, s, "a", "b", "c", "d", "e")
	})
}

func TestEventFilter(t *testing.T) {
	cfg := config.DefaultMaster()
	for _, c := range []struct {
		allow, deny []string
		tag         string
		want        bool
	}{
		{nil, nil, "salt/job/1/ret/a", true},
		{[]string{"salt/job/*/ret/*", "x"}, nil, "salt/job/1/ret/a", true},
		{[]string{"salt/job/*/ret/*", "x"}, nil, "salt/auth", false},
		{nil, []string{"salt/auth"}, "salt/auth", false},
		{nil, []string{"salt/auth"}, "salt/auth/x", true},
		{[]string{"salt/*"}, []string{"*/ret/a?"}, "salt/job/1/ret/ab", false},
	} {
		cfg.EventReturnWhitelist, cfg.EventReturnBlacklist = c.allow, c.deny
		if got := eventFilter(cfg)(c.tag); got != c.want {
			t.Errorf("whitelist %v, blacklist %v: %s = %v", c.allow, c.deny, c.tag, got)
		}
	}
}

// TestAServerThatIsAwayCostsNoBusTime checks that a server which hangs does not delay the bus.
func TestAServerThatIsAwayCostsNoBusTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{hangs: true}
		fire, stop, hook := eventsTo(t, s, 0, 0, nil)
		begin := time.Now()
		fire("first")
		synctest.Wait()
		for n := range eventQueue + 5 {
			fire(fmt.Sprint(n))
		}
		if time.Since(begin) != 0 {
			t.Errorf("the bus waited %v", time.Since(begin))
		}
		time.Sleep(eventLimit + eventPause)
		s.set(func() { s.hangs, s.away = false, true })
		time.Sleep(time.Hour)
		s.set(func() { s.away = false })
		time.Sleep(eventPauses + time.Second)
		synctest.Wait()
		got := s.tags()
		if len(got) != eventQueue+1 || got[0] != "first" || got[1] != "0" ||
			got[eventQueue] != fmt.Sprint(eventQueue-1) {
			t.Errorf("%d events came, from %s to %s", len(got), got[0], got[len(got)-1])
		}
		if n := hookLogs(hook, "raised exception"); n != 1 {
			t.Errorf("the fault is told of %d times", n)
		}
		if n := hookLogs(hook, "Events are stored again"); n != 1 {
			t.Errorf("the end of it is told of %d times", n)
		}
		stop()
	})
}

func hookLogs(hook *logtest.Hook, text string) (n int) {
	for _, e := range hook.AllEntries() {
		if strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}

func TestARefusedEventIsLostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{bad: "5"}
		fire, stop, hook := eventsTo(t, s, 10, 0, nil)
		var rest []string
		for n := range 10 {
			fire(fmt.Sprint(n))
			if n != 5 {
				rest = append(rest, fmt.Sprint(n))
			}
		}
		want(t, s, rest...)
		if n := hookLogs(hook, `Could not store event "5" (1 lost so far)`); n != 1 {
			t.Errorf("the loss is told of %d times", n)
		}
		stop()
	})
}

func TestTheEndOfTheMasterDoesNotWaitForAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{away: true}
		fire, stop, hook := eventsTo(t, s, 0, 0, nil)
		fire("a")
		fire("b")
		time.Sleep(time.Second)
		begin := time.Now()
		stop()
		if d := time.Since(begin); d > lastEvents {
			t.Errorf("the end took %v", d)
		}
		if hookLogs(hook, "2 are lost") != 1 {
			t.Errorf("the loss is not told of: %v", hook.LastEntry())
		}
	})
}

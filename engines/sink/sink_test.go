package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
)

func kind() Kind {
	return Kind{Topic: "topic", Default: "salt/{tag}", MaxTopic: 100, Plain: "mq", Port: "1", PortTLS: "2",
		Schemes: map[string]bool{"mq": false, "mqs": true}, Own: []string{"own"},
		Clean: strings.ToUpper, Check: func(topic string) error {
			if strings.Contains(topic, "//") {
				return errors.New("two slashes")
			}
			return nil
		}}
}

// A broker is a broker in memory. fail, if not nil, returns the error of a message.
type broker struct {
	mu    sync.Mutex
	away  bool
	fail  func(*Message) error
	opens []time.Time
	got   []string
}

func (b *broker) open(context.Context) (Connection, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens = append(b.opens, time.Now())
	if b.away {
		return nil, errors.New("it is away")
	}
	return b, nil
}

func (b *broker) Close() {}

func (b *broker) Send(_ context.Context, batch []*Message) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := make([]error, len(batch))
	for i, m := range batch {
		if b.fail != nil {
			errs[i] = b.fail(m)
		}
		if errs[i] == nil {
			b.got = append(b.got, m.Topic+" "+m.Key+" "+string(m.Body))
		}
	}
	if b.fail == nil {
		return nil
	}
	return errs
}

func (b *broker) set(away bool, fail func(*Message) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away, b.fail = away, fail
}

func (b *broker) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// start runs a sink in a bubble of synctest.
func start(t *testing.T, h engines.Host, b *broker, options *data.Map) (*Sink, func(tags ...string)) {
	t.Helper()
	h.Name, h.ID, h.Bus = "out", "m", eventbus.New(eventbus.Options{})
	if h.Log == nil {
		h.Log = logging.Discard()
	}
	options.Set("servers", []any{"a"})
	o, err := Parse(h, options, kind())
	if err != nil {
		t.Fatal(err)
	}
	s := New(h, o, b.open)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the engine ends with %v", err)
		}
	})
	synctest.Wait()
	return s, func(tags ...string) {
		for _, tag := range tags {
			if err := h.Bus.Fire(tag, data.NewMap("_stamp", "s", "id", "web1")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
	}
}

// topics returns the topics of what a broker got.
func topics(got []string) string {
	var all []string
	for _, text := range got {
		topic, _, _ := strings.Cut(text, " ")
		all = append(all, topic)
	}
	return strings.Join(all, " ")
}

func TestEventsArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		s, fire := start(t, engines.Host{}, b, data.NewMap("tags", []any{"a/*", "b"}))
		fire("a/1", "c", "b", "a/2")
		got := b.take()
		if topics(got) != "salt/A/1 salt/B salt/A/2" {
			t.Errorf("got %q", got)
		}
		if !strings.HasPrefix(got[0], `salt/A/1 web1 {"tag":"a/1","data":{"_stamp":"`) {
			t.Errorf("got %s", got[0])
		}
		if c := s.Counts(); c != (Counts{Sent: 3}) {
			t.Errorf("counts: %+v", c)
		}
	})
}

// What the broker did not confirm is sent again over the next connection, in the same order. What it
// refuses is dropped.
func TestUnconfirmedEventsAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := logtest.NewNullLogger()
		b := &broker{fail: func(m *Message) error {
			switch m.Tag {
			case "b":
				return fmt.Errorf("%w: b", ErrRefused)
			case "c", "d":
				return errors.New("the connection is lost")
			}
			return nil
		}}
		s, fire := start(t, engines.Host{Log: log}, b, data.NewMap())
		b.mu.Lock() // the events become one batch
		fire1 := func() { fire("a", "b", "c", "d", "e") }
		b.mu.Unlock()
		fire1()
		b.set(false, nil)
		time.Sleep(firstPause)
		synctest.Wait()
		got := topics(b.take())
		if !strings.HasSuffix(got, "salt/C salt/D salt/E") && got != "salt/A salt/E salt/C salt/D" {
			t.Errorf("got %s", got)
		}
		if c := s.Counts(); c != (Counts{Sent: 4, Refused: 1}) || len(b.opens) != 2 {
			t.Errorf("counts: %+v, %d connections", c, len(b.opens))
		}
		var lines []string
		for _, e := range logged.AllEntries() {
			lines = append(lines, e.Message)
		}
		want := []string{`engine out: event "b" is not sent: refused: b`, "engine out: events wait for a:1"}
		if !slices.Equal(lines, want) {
			t.Errorf("log: %q", lines)
		}
	})
}

func TestPausesBetweenConnectionsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{away: true}
		_, fire := start(t, engines.Host{}, b, data.NewMap())
		time.Sleep(2 * time.Minute)
		var pauses []time.Duration
		for i := range len(b.opens) - 1 {
			pauses = append(pauses, b.opens[i+1].Sub(b.opens[i])/time.Second)
		}
		if fmt.Sprint(pauses) != "[1ns 2ns 4ns 8ns 16ns 30ns 30ns]" {
			t.Errorf("pauses: %v", pauses)
		}
		b.set(false, nil)
		time.Sleep(lastPause)
		fire("a") // with success the pause is short again
		b.set(false, func(*Message) error { return errors.New("lost") })
		fire("b")
		b.set(false, nil)
		time.Sleep(firstPause)
		synctest.Wait()
		if got := topics(b.take()); got != "salt/A salt/B" {
			t.Errorf("got %s", got)
		}
	})
}

// Events that the queue has no room for are counted, and the broker gets the number in their place.
func TestDroppedEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{away: true}
		s, fire := start(t, engines.Host{}, b, data.NewMap("max_events", int64(2), "tags", []any{"?"}))
		fire("a", "b", "c", "d", "e")
		if c := s.Counts(); c != (Counts{Dropped: 3}) {
			t.Errorf("counts: %+v", c)
		}
		b.set(false, nil)
		time.Sleep(firstPause)
		synctest.Wait()
		fire("f")
		got := b.take()
		if topics(got) != "salt/A salt/B salt/SALT/EVENT/DROPPED salt/F" || !strings.Contains(got[2], `"dropped":3`) {
			t.Errorf("got %q", got)
		}
	})
}

// In a cluster only the leader sends.
func TestOnlyTheLeaderSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leads bool
		b := &broker{}
		_, fire := start(t, engines.Host{Leads: func() bool { return leads }}, b, data.NewMap())
		fire("a")
		leads = true
		fire("b")
		leads = false
		fire("c")
		if got := topics(b.take()); got != "salt/B" {
			t.Errorf("got %s", got)
		}
	})
}

func TestLargeMessagesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		s, fire := start(t, engines.Host{}, b, data.NewMap("max_message", int64(1000)))
		fire(strings.Repeat("x", 1000), strings.Repeat("y", 200), "z")
		if got := topics(b.take()); got != "salt/Z" || s.Counts().Refused != 2 {
			t.Errorf("got %s, %+v", got, s.Counts())
		}
	})
}

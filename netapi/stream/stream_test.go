package stream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/payload"
)

// errBusLost is the error of a fake bus whose channel was closed.
var errBusLost = errors.New("bus is gone")

// A fakeBus is a Source that returns the events of a channel.
type fakeBus chan eventbus.Event

func (f fakeBus) Next(ctx context.Context) (eventbus.Event, error) {
	select {
	case e, ok := <-f:
		if !ok {
			return e, errBusLost
		}
		return e, nil
	case <-ctx.Done():
		return eventbus.Event{}, ctx.Err()
	}
}

func (f fakeBus) Close() error { return nil }

// event returns an event whose data has the given keys and values.
func event(t testing.TB, tag string, pairs ...any) eventbus.Event {
	t.Helper()
	raw, err := payload.MarshalBin(data.NewMap(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return eventbus.Event{Tag: tag, Data: raw}
}

// fire adds an event to a hub as if it came from the bus.
func fire(t testing.TB, h *Hub, tag string, pairs ...any) {
	t.Helper()
	h.add(newEntry(h, event(t, tag, pairs...)))
}

// listen returns a listener that ends with the test.
func listen(t testing.TB, h *Hub, f Filter) *Listener {
	t.Helper()
	l, err := h.Listen(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// pending returns the tags of all events that a listener can read now; a notice is shown with its
// reason and number.
func pending(t testing.TB, l *Listener) []string {
	t.Helper()
	var tags []string
	for {
		item, wake, err := l.poll()
		if err != nil {
			t.Fatal(err)
		}
		if wake != nil {
			return tags
		}
		tags = append(tags, shown(item))
	}
}

func shown(i Item) string {
	lost, ok := i.Lost()
	if !ok {
		return i.Tag()
	}
	return string(data.AppendRepr([]byte(lost.Reason+" "), int64(lost.Events)))
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

func equalTags(t testing.TB, got []string, want ...string) {
	t.Helper()
	equal(t, "events", strings.Join(got, " | "), strings.Join(want, " | "))
}

// salt has what salt-api answered.
type salt struct {
	Events    []string `json:"events"`
	WS        []string `json:"ws"`
	Formatted []string `json:"formatted"`
}

func loadSalt(t testing.TB) salt {
	t.Helper()
	b, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	var s salt
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// fireJSON adds the event of an object with the keys data and tag.
func fireJSON(t testing.TB, h *Hub, text string) {
	t.Helper()
	v, err := pyjson.Load(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	m := v.(*data.Map)
	raw, err := payload.MarshalBin(m.Value("data"))
	if err != nil {
		t.Fatal(err)
	}
	h.add(newEntry(h, eventbus.Event{Tag: m.Text("tag"), Data: raw}))
}

// A message is one event of an event stream, read as the HTML standard says, and the lines tag, which
// the standard ignores.
type message struct {
	id, tag, data string
}

// parseStream parses an event stream.
func parseStream(text string) []message {
	var (
		all []message
		m   message
		got bool
	)
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if got {
				m.data = strings.TrimSuffix(m.data, "\n")
				all = append(all, m)
			}
			m, got = message{id: m.id}, false
		case field == "id":
			m.id = value
		case field == "tag":
			m.tag += value
		case field == "data":
			m.data += value + "\n"
			got = true
		}
	}
	return all
}

// tagIn returns the tag in the JSON of an event.
func tagIn(t testing.TB, text string) string {
	t.Helper()
	v, err := pyjson.Load(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	m, ok := v.(*data.Map)
	if !ok || m.Len() != 2 || !m.Has("data") {
		t.Fatalf("%s is no event", text)
	}
	return m.Text("tag")
}

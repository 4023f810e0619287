package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
)

// A delivered is a message as a consumer delivers it.
type delivered struct {
	jetstream.Msg
	*jetstream.RawStreamMsg
	number uint64 // of the consumer's messages
}

func (d delivered) Metadata() (*jetstream.MsgMetadata, error) {
	at := jetstream.SequencePair{Consumer: d.number, Stream: d.Sequence}
	return &jetstream.MsgMetadata{Sequence: at, Timestamp: d.Time}, nil
}

func (d delivered) Subject() string { return d.RawStreamMsg.Subject }
func (d delivered) Data() []byte    { return d.RawStreamMsg.Data }

// A gappy is a follower whose consumer is on a replica that lacks messages.
type gappy struct {
	*follower
	raw   jetstream.Stream
	fails uint64 // sequence of the message that the caller does not take
	got   []uint64
}

var errNotTaken = errors.New("not taken")

func newGappy(t *testing.T, c *Cluster, stream string, strict bool) *gappy {
	t.Helper()
	ctx := patiently(t)
	raw, err := c.js.Stream(ctx, stream)
	must(t, err)
	g := &gappy{raw: raw}
	g.follower = &follower{c: c, stream: stream, strict: strict, server: "n1", handle: func(m message) error {
		if m.sequence == g.fails {
			return errNotTaken
		}
		want, err := raw.GetMsg(ctx, m.sequence)
		if err != nil || string(want.Data) != string(m.body) || want.Subject != m.subject || !want.Time.Equal(m.at) {
			return fmt.Errorf("message %d differs from the one in the stream: %w", m.sequence, err)
		}
		g.got = append(g.got, m.sequence)
		return nil
	}}
	return g
}

// deliver takes messages that the stream has, and no others.
func (g *gappy) deliver(t *testing.T, all ...uint64) error {
	t.Helper()
	for _, n := range all {
		m, err := g.raw.GetMsg(patiently(t), n)
		must(t, err)
		if err := g.take(patiently(t), delivered{RawStreamMsg: m, number: g.consumed + 1}); err != nil {
			return err
		}
	}
	return nil
}

func (g *gappy) expect(t *testing.T, want ...uint64) {
	t.Helper()
	if !slices.Equal(g.got, want) {
		t.Errorf("got %v, want %v", g.got, want)
	}
}

// TestManyMissingMessagesComeInParts lets most of a stream be missing: another replica may have it.
func TestManyMissingMessagesComeInParts(t *testing.T) {
	c, _, stream := seven(t)
	for i := range mostFilled {
		_, err := c.Returns().Add(patiently(t), fmt.Append(nil, "more ", i))
		must(t, err)
	}
	last := uint64(7 + mostFilled)
	g := newGappy(t, c, stream, true)
	must(t, errorIs(g.deliver(t, last), errAgain))
	if len(g.got) != mostFilled || g.after != mostFilled {
		t.Errorf("got %d messages up to %d, want %d", len(g.got), g.after, mostFilled)
	}
	must(t, g.deliver(t, last))
	if uint64(len(g.got)) != last || g.after != last {
		t.Errorf("got %d messages up to %d, want %d", len(g.got), g.after, last)
	}
}

// seven returns a member, what it logs, and the name of a stream with seven messages.
func seven(t *testing.T) (*Cluster, *logtest.Hook, string) {
	t.Helper()
	s := one(t)
	log, said := logtest.NewNullLogger()
	s.o.Log, s.o.Member = log, "a"
	c, err := Open(patiently(t), s.o)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	for i := range 7 {
		_, err := c.Returns().Add(patiently(t), fmt.Append(nil, "return ", i))
		must(t, err)
	}
	return c, said, c.name(forReturns)
}

func TestMissingMessagesComeFromTheLeader(t *testing.T) {
	c, said, stream := seven(t)
	g := newGappy(t, c, stream, true)
	must(t, g.deliver(t, 2, 3, 6, 7))
	g.expect(t, 1, 2, 3, 4, 5, 6, 7)
	var got []string
	for _, e := range said.AllEntries() {
		if e.Level == logrus.WarnLevel {
			got = append(got, e.Message)
		}
	}
	want := []string{"fetched 1 messages of stream test_returns from its leader, 1 to 1: NATS server n1 lacks them",
		"fetched 2 messages of stream test_returns from its leader, 4 to 5: NATS server n1 lacks them"}
	if !slices.Equal(got, want) {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// TestMissingMessagesComeOnce lets the caller fail between messages of the leader.
func TestMissingMessagesComeOnce(t *testing.T) {
	c, _, stream := seven(t)
	g := newGappy(t, c, stream, true)
	g.fails = 3
	must(t, errorIs(g.deliver(t, 6), errNotTaken))
	g.fails = 0
	must(t, g.deliver(t, 6))
	g.expect(t, 1, 2, 3, 4, 5, 6)
}

// TestMessagesThatTheLeaderLacks deletes messages of a stream: for a while another replica may have them.
func TestMessagesThatTheLeaderLacks(t *testing.T) {
	c, _, stream := seven(t)
	g := newGappy(t, c, stream, true)
	must(t, g.deliver(t, 1))
	must(t, g.raw.DeleteMsg(patiently(t), 3))
	must(t, g.raw.DeleteMsg(patiently(t), 4))
	must(t, errorIs(g.deliver(t, 6), errAgain))
	g.expect(t, 1, 2)
	g.lacking = g.lacking.Add(-2 * DeposedTime)
	var gap *Gap
	if err := g.deliver(t, 6); !errors.As(err, &gap) || *gap != (Gap{3, 4}) {
		t.Errorf("err = %v, want a gap from 3 to 4", err)
	}
	if err := g.deliver(t, 5); !errors.As(err, &gap) || *gap != (Gap{3, 4}) {
		t.Errorf("before the next message: %v, want a gap from 3 to 4", err)
	}
	g.after = gap.Last
	must(t, g.deliver(t, 6))
	g.expect(t, 1, 2, 5, 6)
	if !g.lacking.IsZero() {
		t.Error("after the gap messages still count as missing")
	}
}

// TestLeaderWithoutMessages is about a server that led once, or whose disk is damaged: it knows less than the
// consumer has delivered.
func TestLeaderWithoutMessages(t *testing.T) {
	c, _, stream := seven(t)
	g := newGappy(t, c, stream, true)
	must(t, g.deliver(t, 1, 2))
	m := delivered{RawStreamMsg: &jetstream.RawStreamMsg{Sequence: 5, Time: time.Now()}, number: 3}
	must(t, g.raw.Purge(patiently(t)))
	must(t, errorIs(g.take(patiently(t), m), errAgain))
	g.lacking = g.lacking.Add(-2 * DeposedTime)
	m.number++
	var gap *Gap
	if err := g.take(patiently(t), m); !errors.As(err, &gap) || *gap != (Gap{3, 4}) {
		t.Errorf("err = %v, want a gap from 3 to 4", err)
	}
}

// TestOverwrittenMessagesAreNoGap lets a consumer skip messages of a bucket, of which some are overwritten.
func TestOverwrittenMessagesAreNoGap(t *testing.T) {
	c := one(t).join(t, "a")
	v := c.Values(shelves()[0])
	revision := map[string]uint64{}
	set := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			var err error
			revision[key], err = v.Set(patiently(t), key, []byte(key), revision[key])
			must(t, err)
		}
	}
	set("x", "y", "x", "z", "w", "x")
	known := newGappy(t, c, v.b.stream, false)
	consumer, err := known.consumer(patiently(t))
	must(t, err)
	known.discard(consumer.CachedInfo().Name)
	if !slices.Equal(known.gone, []uint64{3}) || known.before != 1 {
		t.Errorf("gone are %v, and all before %d, want 3 and before 1", known.gone, known.before)
	}
	for end, want := range map[uint64]bool{2: false, 3: true, 4: true} {
		if known.hole(end) != want {
			t.Errorf("before %d: hole = %v, want %v", end, !want, want)
		}
	}
	must(t, known.deliver(t, 6)) // 2, 4 and 5 are missing
	known.expect(t, 2, 4, 5, 6)

	set("y", "v") // 7, 8; 2 is gone now
	known = newGappy(t, c, v.b.stream, false)
	must(t, known.deliver(t, 4, 6, 8))
	known.expect(t, 4, 5, 6, 7, 8)
}

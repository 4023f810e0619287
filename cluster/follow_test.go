package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
	raw jetstream.Stream
	got []uint64
}

func newGappy(t *testing.T, c *Cluster, stream string, strict bool) *gappy {
	t.Helper()
	raw, err := c.js.Stream(patiently(t), stream)
	must(t, err)
	g := &gappy{raw: raw}
	g.follower = &follower{c: c, stream: stream, strict: strict, handle: func(m message) error {
		want, err := raw.GetMsg(context.Background(), m.sequence)
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

func TestMissingMessagesComeFromTheLeader(t *testing.T) {
	c := one(t).join(t, "a")
	ctx := patiently(t)
	for i := range 8 {
		_, err := c.Returns().Add(ctx, fmt.Append(nil, "return ", i))
		must(t, err)
	}
	g := newGappy(t, c, c.name(forReturns), true)
	must(t, g.deliver(t, 2, 3, 6, 7))
	if want := []uint64{2, 3, 4, 5, 6, 7}; !slices.Equal(g.got, want) {
		t.Errorf("got %v, want %v", g.got, want)
	}

	g = newGappy(t, c, c.name(forReturns), true)
	must(t, g.deliver(t, 1))
	must(t, g.raw.DeleteMsg(ctx, 3))
	must(t, g.raw.DeleteMsg(ctx, 4))
	var gap *Gap
	if err := g.deliver(t, 6); !errors.As(err, &gap) || *gap != (Gap{3, 4}) {
		t.Errorf("with messages that the leader lacks, too: %v, want a gap from 3 to 4", err)
	}
	if want := []uint64{1, 2}; !slices.Equal(g.got, want) {
		t.Errorf("got %v before the gap, want %v", g.got, want)
	}
	g.after = 3 // before more of the gap
	if err := g.deliver(t, 5); !errors.As(err, &gap) || *gap != (Gap{4, 4}) {
		t.Errorf("before message 5: %v, want a gap from 4 to 4", err)
	}
	// a server that led once tells of less than what the consumer has delivered
	g.after = 5
	must(t, g.raw.Purge(ctx))
	m := delivered{RawStreamMsg: &jetstream.RawStreamMsg{Sequence: 8, Time: time.Now()}, number: g.consumed + 1}
	must(t, errorIs(g.take(ctx, m), errAgain))
}

// TestOverwrittenMessagesAreNoGap changes the value of a key twice, and that of another one in between.
func TestOverwrittenMessagesAreNoGap(t *testing.T) {
	c := one(t).join(t, "a")
	ctx := patiently(t)
	v := c.Values(shelves()[0])
	revision := map[string]uint64{}
	for _, key := range []string{"x", "y", "x", "z", "w"} {
		var err error
		revision[key], err = v.Set(ctx, key, []byte(key), revision[key])
		must(t, err)
	}
	g := newGappy(t, c, v.b.stream, false)
	g.after, g.target = 1, 1 // what it had at first is read
	must(t, g.deliver(t, 5))
	if want := []uint64{2, 3, 4, 5}; !slices.Equal(g.got, want) {
		t.Errorf("got %v, want %v", g.got, want)
	}
	g = newGappy(t, c, v.b.stream, false)
	g.after, g.target = 1, 1
	_, err := v.Set(ctx, "y", []byte("again"), revision["y"])
	must(t, err)
	_, err = v.Set(ctx, "z", []byte("again"), revision["z"])
	must(t, err)
	must(t, g.deliver(t, 3, 5))
	if want := []uint64{3, 5}; !slices.Equal(g.got, want) {
		t.Errorf("got %v, want %v", g.got, want)
	}
}

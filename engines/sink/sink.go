// Package sink is the common part of the engines that send the events of a master to a message broker:
// nats, mqtt and kafka. They are Brine's own.
//
// options.go parses the options that all of them have, topic.go makes topics of tags, message.go makes
// messages of events, and sink.go sends them.
//
// Events that arrive faster than the broker takes them wait in the queue of the bus, up to its limit.
// Those beyond are dropped and counted: the log has their number, and the broker gets the event
// salt/event/dropped in their place. A batch that the broker has not confirmed is sent again over the
// next connection, so an event can arrive twice.
package sink

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
)

// A Connection is a connection to a broker.
type Connection interface {
	// Send sends messages in their order and waits until the broker has them. It returns nil, or an
	// error for each message, nil for those that the broker has. One that wraps ErrRefused drops the
	// message; any other one ends the connection, and the message is sent again.
	Send(ctx context.Context, batch []*Message) []error
	Close()
}

// ErrRefused is wrapped by the error of a message that the broker will never take.
var ErrRefused = errors.New("refused")

// An Open connects to a broker. Its errors have no secrets.
type Open func(ctx context.Context) (Connection, error)

// Limits of a batch, and the pauses between connections.
const (
	batchEvents = 256
	batchBytes  = 4 << 20
	firstPause  = time.Second
	lastPause   = 30 * time.Second
)

// A Sink sends events to one broker.
type Sink struct {
	host    engines.Host
	o       *Options
	open    Open
	events  *eventbus.Subscription
	batch   []*Message // not confirmed yet
	pause   time.Duration
	told    loglimit.Limiter
	sent    atomic.Uint64
	refused atomic.Uint64
}

// New returns a Sink for events from now on, see Run.
func New(h engines.Host, o *Options, open Open) *Sink {
	s := &Sink{host: h, o: o, open: open, pause: firstPause}
	s.events = h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name, Match: s.wants,
		MaxEvents: o.MaxEvents, MaxBytes: o.MaxBytes, Gaps: true})
	return s
}

// Counts are the numbers of events of a Sink: those that the broker has, those dropped as the queue was
// full, and those that the broker does not take.
type Counts struct{ Sent, Dropped, Refused uint64 }

// Counts returns the numbers of events so far.
func (s *Sink) Counts() Counts {
	return Counts{Sent: s.sent.Load(), Dropped: s.events.Dropped(), Refused: s.refused.Load()}
}

// wants reports whether events with a tag are sent. In a cluster its leader sends them.
func (s *Sink) wants(tag string) bool {
	return s.o.wants(tag) && (s.host.Leads == nil || s.host.Leads())
}

// Run sends events until ctx ends. It logs once a minute that there is no connection.
func (s *Sink) Run(ctx context.Context) error {
	for {
		err := s.connected(ctx)
		if ctx.Err() != nil {
			s.events.Close()
			s.log().Debugf("engine %s: end", s.host.Name)
			return ctx.Err()
		}
		if s.told.First("connection") {
			s.log().WithError(err).Errorf("engine %s: events wait for %s", s.host.Name, s.o.Shown())
		}
		if err := clock.Sleep(ctx, s.pause); err != nil {
			s.events.Close()
			return err
		}
		s.pause = min(2*s.pause, lastPause)
	}
}

// log returns the log with the numbers of events.
func (s *Sink) log() *logrus.Entry {
	c := s.Counts()
	return s.host.Log.WithFields(logrus.Fields{"sent": c.Sent, "dropped": c.Dropped, "refused": c.Refused})
}

// connected sends events over one connection.
func (s *Sink) connected(ctx context.Context) error {
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		if err := s.fill(ctx); err != nil {
			return err
		}
		if err := s.send(ctx, conn); err != nil {
			return err
		}
	}
}

// fill makes the next batch, unless there is one.
func (s *Sink) fill(ctx context.Context) error {
	for len(s.batch) == 0 {
		events, err := s.events.NextFew(ctx, make([]eventbus.Event, 0, batchEvents), batchBytes)
		if err != nil {
			return err
		}
		for _, event := range events {
			m, err := s.o.message(event)
			if err != nil {
				s.refuse(event.Tag, err)
				continue
			}
			s.batch = append(s.batch, m)
		}
	}
	return nil
}

// send sends the batch, and keeps the messages in it that have to be sent again.
func (s *Sink) send(ctx context.Context, conn Connection) error {
	errs := conn.Send(ctx, s.batch)
	var left []*Message
	var failed error
	for i, m := range s.batch {
		var err error
		if errs != nil {
			err = errs[i]
		}
		switch {
		case err == nil:
			s.sent.Add(1)
		case errors.Is(err, ErrRefused):
			s.refuse(m.Tag, err)
		default:
			left = append(left, m)
			if failed == nil {
				failed = fmt.Errorf("send event %.200q: %w", m.Tag, err)
			}
		}
	}
	s.batch = left
	if failed == nil {
		s.pause = firstPause
	}
	return failed
}

// refuse counts an event that cannot be sent, and logs one a minute.
func (s *Sink) refuse(tag string, err error) {
	s.refused.Add(1)
	s.told.Warnf(s.host.Log, "event", "engine %s: event %.200q is not sent: %v", s.host.Name, tag, err)
}

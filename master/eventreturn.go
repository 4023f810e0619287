package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/returners"
)

// An EventSink is a returner named in event_return.
type EventSink struct {
	Name string
	Open func(ctx context.Context) (returners.EventReturner, error)
}

// Limits of event_return.
const (
	// events that wait for one returner, if event_return_queue is not larger
	eventQueue    = 16 << 10
	maxEvents     = 10000            // maximum batch, however large event_return_queue is
	defaultEvents = 500              // batch if event_return_queue is not set and events wait
	eventLimit    = 30 * time.Second // for one delivery
	lastEvents    = 3 * time.Second  // for the remaining events when the master ends
	eventPause    = time.Second      // after the first failure
	eventPauses   = 30 * time.Second // maximum pause
)

// eventReturn sends the events of the bus to one returner (salt/utils/event.py, EventReturn). It
// reads from a bounded queue, so the bus never waits for it; events that do not fit while the
// returner's server is away are lost and counted. Events that were read are retried until the
// server accepts them. An event that the server rejects is dropped without the others. An event
// whose delivery failed half-way may arrive twice.
type eventReturn struct {
	sink  EventSink
	bus   *eventbus.Bus
	most  int           // event_return_queue, bounded
	wait  time.Duration // event_return_queue_max_seconds; 0 means no limit
	wants func(tag string) bool
	log   logrus.FieldLogger
	once  *sinkTurns // lets one member of a cluster store events; nil without a cluster

	lost uint64 // events that the server rejected
}

// eventReturns returns the configured event returners. c is nil without a cluster.
func eventReturns(cfg *config.Master, sinks []EventSink, b base, c *member) []*eventReturn {
	var all []*eventReturn
	seconds, _ := cfg.Map().Value("event_return_queue_max_seconds").(int64)
	for _, s := range sinks {
		all = append(all, &eventReturn{
			sink:  s,
			bus:   b.bus,
			most:  min(cfg.EventReturnQueue, maxEvents),
			wait:  time.Duration(max(seconds, 0)) * time.Second,
			wants: eventFilter(cfg),
			log:   b.log.WithField("event_return", s.Name),
			once:  c.sinkTurns(s.Name),
		})
	}
	return all
}

// eventFilter returns a filter for the tags that are sent to returners: those that match the
// whitelist, if there is one, and not the blacklist. Orders to the reactor are never sent.
func eventFilter(cfg *config.Master) func(tag string) bool {
	allow, deny := globs(cfg.EventReturnWhitelist), globs(cfg.EventReturnBlacklist)
	has := func(list []*match.Glob, tag string) bool {
		return slices.ContainsFunc(list, func(g *match.Glob) bool { return g.Match(tag) })
	}
	return func(tag string) bool {
		secret := strings.Contains(tag, "/"+reactor.ManageTag) // contains root's key
		return (len(allow) == 0 || has(allow, tag)) && !has(deny, tag) && !secret
	}
}

func globs(patterns []string) []*match.Glob {
	list := make([]*match.Glob, len(patterns))
	for i, p := range patterns {
		list[i] = match.CompileGlob(p)
	}
	return list
}

func (e *eventReturn) part() daemon.Part {
	return daemon.Part{Name: "event_return " + e.sink.Name, Run: daemon.Always(e.run)}
}

// run sends events until ctx ends. It then tries for a moment to send the remaining ones.
func (e *eventReturn) run(ctx context.Context) error {
	events := e.bus.Subscribe(eventbus.SubscribeOptions{
		Name:      "event_return " + e.sink.Name,
		Match:     e.wants,
		MaxEvents: max(eventQueue, e.most),
	})
	defer events.Close()
	to, err := e.sink.Open(ctx)
	if err != nil {
		return fmt.Errorf("open returner %s: %w", e.sink.Name, err)
	}
	if err := e.bus.Fire("salt/event_listen/start", data.NewMap()); err != nil {
		e.log.WithError(err).Error("announce event_return")
	}
	g := &gathering{e: e, events: events}
	if e.once != nil {
		e.once.run(ctx, g, to)
		return errors.Join(ctx.Err(), to.Close())
	}
	g.store(ctx, to)
	e.finish(to, g)
	return errors.Join(ctx.Err(), to.Close())
}

// store stores events until ctx ends.
func (g *gathering) store(ctx context.Context, to returners.EventReturner) {
	for g.gather(ctx) == nil && g.e.deliver(ctx, to, g) == nil {
	}
}

// finish sends the remaining events when the master ends.
func (e *eventReturn) finish(to returners.EventReturner, g *gathering) {
	ctx, cancel := context.WithTimeout(context.Background(), lastEvents)
	defer cancel()
	g.events.Close()
	g.rest(1 << 30)
	if err := e.deliver(ctx, to, g); err != nil {
		e.log.WithError(err).Errorf("Could not store events - %d are lost", len(g.batch))
	}
}

// A gathering collects the events of one delivery.
type gathering struct {
	e      *eventReturn
	events *eventbus.Subscription
	batch  []returners.Event
	ids    []uint64 // of the events in batch, in a cluster
}

// take removes the first events of the batch, which are stored or given up.
func (g *gathering) take(n int) {
	g.batch = g.batch[n:]
	if g.e.once != nil {
		g.e.once.stored(g.ids[:n])
		g.ids = g.ids[n:]
	}
}

// gather waits for events until the batch is full or the first event has waited long enough. It
// returns the error of ctx once that ends.
func (g *gathering) gather(ctx context.Context) error {
	event, err := g.events.Next(ctx)
	if err != nil {
		return err
	}
	g.add(event)
	if g.e.most <= 1 {
		g.rest(defaultEvents)
		return nil
	}
	waiting := ctx
	if g.e.wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, g.e.wait)
		defer cancel()
	}
	for len(g.batch) < g.e.most {
		if event, err = g.events.Next(waiting); err != nil {
			break
		}
		g.add(event)
	}
	return ctx.Err()
}

// rest adds events that are already queued, until the batch has the given size.
func (g *gathering) rest(most int) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for len(g.batch) < most {
		event, err := g.events.Next(now)
		if err != nil {
			return
		}
		g.add(event)
	}
}

func (g *gathering) add(event eventbus.Event) {
	m, err := event.Map()
	if err != nil {
		g.e.log.WithError(err).Warnf("Event %q cannot be decoded and is not stored", event.Tag)
		return
	}
	g.batch = append(g.batch, returners.Event{Tag: event.Tag, Data: m})
	if g.e.once != nil {
		g.ids = append(g.ids, eventID(event))
	}
}

// deliver sends a batch, and removes from it what was sent. It retries while the server is away,
// and returns the error of ctx once that ends.
func (e *eventReturn) deliver(
	ctx context.Context, to returners.EventReturner, g *gathering,
) error {
	pause, part := eventPause, len(g.batch)
	failed := false
	for len(g.batch) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part = min(part, len(g.batch))
		err := e.send(ctx, to, g.batch[:part])
		switch {
		case err == nil:
			g.take(part)
			pause, part = eventPause, len(g.batch)
			if failed {
				e.log.Info("Events are stored again")
				failed = false
			}
		case errors.Is(err, returners.ErrRefused) && part > 1:
			part /= 2 // find the rejected event
		case errors.Is(err, returners.ErrRefused):
			e.lost++
			e.log.WithError(err).Errorf("Could not store event %q (%d lost so far)",
				g.batch[0].Tag, e.lost)
			g.take(1)
			part = max(len(g.batch)/2, 1)
		default:
			if !failed {
				e.log.Errorf("Could not store events - returner '%s' raised exception: %v",
					e.sink.Name, err)
				failed = true
			}
			if err := clock.Sleep(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, eventPauses)
		}
	}
	g.batch, g.ids = nil, nil
	return nil
}

// send tries one delivery.
func (e *eventReturn) send(
	ctx context.Context, to returners.EventReturner, events []returners.Event,
) error {
	ctx, cancel := context.WithTimeout(ctx, eventLimit)
	defer cancel()
	return to.ReturnEvents(ctx, events)
}

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

// An EventSink is one of those that event_return names.
type EventSink struct {
	Name string
	Open func(ctx context.Context) (returners.EventReturner, error)
}

// Bounds on event_return.
const (
	eventQueue  = 16 << 10         // events that wait for one returner, where event_return_queue is not more
	mostEvents  = 10000            // given at once, however large event_return_queue is
	someEvents  = 500              // given at once where they wait and event_return_queue does not say
	eventLimit  = 30 * time.Second // for one delivery
	lastEvents  = 3 * time.Second  // for what is left when the master ends
	eventPause  = time.Second      // after a failure, the first time
	eventPauses = 30 * time.Second // the longest
)

// eventReturn gives the events of the bus to one returner (salt/utils/event.py, EventReturn). It reads from a bounded
// queue, so that the bus never waits for it: what does not fit while the returner's server is away is lost and counted.
// What it has read it keeps until the server takes it. An event that the server does not take as it is, is lost alone. One
// whose delivery failed half-way may come twice.
type eventReturn struct {
	sink  EventSink
	bus   *eventbus.Bus
	most  int           // event_return_queue
	wait  time.Duration // event_return_queue_max_seconds; 0 is for ever
	wants func(tag string) bool
	log   logrus.FieldLogger

	lost uint64 // events that were refused
}

// eventReturns are the parts that event_return asks for.
func eventReturns(p *parts) []*eventReturn {
	var all []*eventReturn
	seconds, _ := p.cfg.Map().Value("event_return_queue_max_seconds").(int64)
	for _, s := range p.o.EventSinks {
		all = append(all, &eventReturn{sink: s, bus: p.bus, most: min(p.cfg.EventReturnQueue, mostEvents), wait: time.Duration(max(seconds, 0)) * time.Second,
			wants: eventFilter(p.cfg), log: p.o.Log.WithField("event_return", s.Name)})
	}
	return all
}

// eventFilter returns which tags are for returners: those that the whitelist has, where there is one, and not the blacklist.
// Orders to the reactor are not.
func eventFilter(cfg *config.Master) func(tag string) bool {
	allow, deny := globs(cfg.EventReturnWhitelist), globs(cfg.EventReturnBlacklist)
	has := func(list []*match.Glob, tag string) bool {
		return slices.ContainsFunc(list, func(g *match.Glob) bool { return g.Match(tag) })
	}
	return func(tag string) bool {
		secret := strings.Contains(tag, "/"+reactor.ManageTag) // holds the key of root
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

// run gives events away until ctx ends, and then what is left, for a moment.
func (e *eventReturn) run(ctx context.Context) error {
	events := e.bus.Subscribe(eventbus.SubscribeOptions{Name: "event_return " + e.sink.Name, Match: e.wants, MaxEvents: max(eventQueue, e.most)})
	defer events.Close()
	to, err := e.sink.Open(ctx)
	if err != nil {
		return fmt.Errorf("open returner %s: %w", e.sink.Name, err)
	}
	if err := e.bus.Fire("salt/event_listen/start", data.NewMap()); err != nil {
		e.log.WithError(err).Error("announce event_return")
	}
	g := &gathering{e: e, events: events}
	for g.gather(ctx) == nil && e.deliver(ctx, to, &g.batch) == nil {
	}
	e.finish(to, g)
	return errors.Join(ctx.Err(), to.Close())
}

// finish gives away what is left when the master ends.
func (e *eventReturn) finish(to returners.EventReturner, g *gathering) {
	ctx, cancel := context.WithTimeout(context.Background(), lastEvents)
	defer cancel()
	g.events.Close()
	g.rest(1 << 30)
	if err := e.deliver(ctx, to, &g.batch); err != nil {
		e.log.WithError(err).Errorf("Could not store events - %d are lost", len(g.batch))
	}
}

// A gathering collects the events of one delivery.
type gathering struct {
	e      *eventReturn
	events *eventbus.Subscription
	batch  []returners.Event
}

// gather waits for events until there are enough, or the first has waited long enough. It ends with ctx.
func (g *gathering) gather(ctx context.Context) error {
	event, err := g.events.Next(ctx)
	if err != nil {
		return err
	}
	g.add(event)
	if g.e.most <= 1 {
		g.rest(someEvents)
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

// rest adds events that are there already, up to a number.
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
		g.e.log.WithError(err).Warnf("event %q cannot be read, and is not stored", event.Tag)
		return
	}
	g.batch = append(g.batch, returners.Event{Tag: event.Tag, Data: m})
}

// deliver gives a batch away, and takes from it what is done. While the server is away it tries again; the error is that of
// ctx then.
func (e *eventReturn) deliver(ctx context.Context, to returners.EventReturner, batch *[]returners.Event) error {
	pause, part := eventPause, len(*batch)
	failed := false
	for len(*batch) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part = min(part, len(*batch))
		err := e.once(ctx, to, (*batch)[:part])
		switch {
		case err == nil:
			*batch = (*batch)[part:]
			if pause, part = eventPause, len(*batch); failed {
				e.log.Info("events are stored again")
				failed = false
			}
		case errors.Is(err, returners.ErrRefused) && part > 1:
			part /= 2 // find the one
		case errors.Is(err, returners.ErrRefused):
			e.lost++
			e.log.WithError(err).Errorf("Could not store event %q (%d are lost by now)", (*batch)[0].Tag, e.lost)
			*batch = (*batch)[1:]
			part = max(len(*batch)/2, 1)
		default:
			if !failed {
				e.log.Errorf("Could not store events - returner '%s' raised exception: %v", e.sink.Name, err)
				failed = true
			}
			if err := clock.Sleep(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, eventPauses)
		}
	}
	*batch = nil
	return nil
}

// once tries one delivery.
func (e *eventReturn) once(ctx context.Context, to returners.EventReturner, events []returners.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventLimit)
	defer cancel()
	return to.ReturnEvents(ctx, events)
}

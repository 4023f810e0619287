// Package reactor answers events with orders: where the tag of an event matches a rule, the files of that rule say what is
// done (salt/utils/reactor.py; option reactor).
//
//	r, err := reactor.New(reactor.Options{Bus: bus, Rules: option, Orders: orders, Log: log})
//	err = r.Run(ctx, ready)
//
// A file is rendered for each event (see [Rendered]), with tag and data, and gives reactions by id. There are four types of them: local
// sends a job to minions, runner and wheel call functions on the master, caller calls execution functions there. Reactions of one event are done one after the
// other in the order of the file, or as order says.
//
// # Who waits for whom
//
// The bus never waits. Events that match wait in a queue with a bound on their number and bytes, and are worked off by a
// number of workers. Those of one minion, which is told by the field id, are worked off in order; other events overtake a
// reaction that takes long. What does not fit is lost and counted: every ten seconds the event salt/reactor/dropped and
// the log tell how many.
//
// # Loops
//
// Whatever the reactor orders is done by the user Reactor, and events that name this user are not reacted to. Salt does so
// for runners and wheel functions only.
package reactor

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// User is who does what the reactor orders.
const User = "Reactor"

// DroppedTag is the event that tells of events that were lost: their number under dropped, that since the start under
// total, and how many wait under waiting.
const DroppedTag = "salt/reactor/dropped"

const (
	reportEvery = 10 * time.Second
	maxWaiting  = 64 << 20 // bytes of the events that wait
)

// Options say what a Reactor works with.
type Options struct {
	Bus    *eventbus.Bus
	Rules  any // option reactor
	Orders Orders
	// Read reads a file of salt://; nil has none.
	Read func(ctx context.Context, path string) ([]byte, error)
	// Render makes a value of a file; nil is Plain.
	Render Render
	// Key returns the key that events which change rules must prove by [Sign], or hold under key as those of Salt do; nil or ""
	// lets nobody.
	Key     func() string
	ID      string // of the master
	Workers int    // option reactor_worker_threads; at least 1
	Queue   int    // option reactor_worker_hwm: events that wait
	Log     logrus.FieldLogger
}

// A Reactor reacts to the events of a bus.
type Reactor struct {
	o      Options
	live   atomic.Pointer[table]
	mu     sync.Mutex // held while rules change
	leader atomic.Bool
	total  atomic.Uint64 // events lost
}

// New returns a Reactor. The error tells which rules make no sense; the others hold.
func New(o Options) (*Reactor, error) {
	if o.Render == nil {
		o.Render = Plain
	}
	r := &Reactor{o: o}
	r.leader.Store(true)
	return r, r.SetRules(o.Rules)
}

// SetRules replaces all rules by those of the option reactor. The error tells which make no sense and are left out.
func (r *Reactor) SetRules(option any) error {
	rules, err := ParseRules(option)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live.Store(newTable(rules))
	return err
}

// Rules returns the rules that hold.
func (r *Reactor) Rules() []Rule { return slices.Clone(r.live.Load().rules) }

// Dropped returns how many events were lost.
func (r *Reactor) Dropped() uint64 { return r.total.Load() }

// Run reacts to what is fired after it has called ready, until ctx ends. Reactions under way are told to end then, and
// waited for.
func (r *Reactor) Run(ctx context.Context, ready func()) error {
	events := r.o.Bus.Subscribe(eventbus.SubscribeOptions{Name: "reactor", Match: r.wants, MaxEvents: max(r.o.Queue, 1), Private: true})
	defer events.Close()
	ready()
	p := newPool(max(r.o.Queue, 1), maxWaiting)
	var parts sync.WaitGroup
	for range max(r.o.Workers, 1) {
		parts.Go(func() { p.work(ctx) })
	}
	parts.Go(func() { r.report(ctx, p, events) })
	for event := range events.All(ctx) {
		r.take(p, event)
	}
	p.close()
	parts.Wait()
	return ctx.Err()
}

func (r *Reactor) wants(tag string) bool { return manages(tag) || r.live.Load().wants(tag) }

// take puts an event into the queue if something is to be done for it.
func (r *Reactor) take(p *pool, event eventbus.Event) {
	body, err := event.Map()
	if err != nil {
		r.o.Log.WithError(err).Warnf("event %q cannot be read", event.Tag)
		return
	}
	if body.Value("user") == User {
		return
	}
	if manages(event.Tag) {
		r.manage(event.Tag, body)
		return
	}
	files := r.live.Load().files(event.Tag)
	if len(files) == 0 || !r.leader.Load() {
		return
	}
	id, _ := body.Value("id").(string)
	if !p.offer(task{id, len(event.Data), func(ctx context.Context) { r.react(ctx, event.Tag, body, files) }}) {
		r.total.Add(1)
	}
}

// report tells of events that were lost, until ctx ends.
func (r *Reactor) report(ctx context.Context, p *pool, events *eventbus.Subscription) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	var told, missed uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		unread := events.Dropped()
		r.total.Add(unread - missed)
		missed = unread
		total := r.total.Load()
		if total == told {
			continue
		}
		body := data.NewMap("dropped", int64(total-told), "total", int64(total), "waiting", int64(p.waiting()), "user", User)
		r.o.Log.Errorf("reactor: %d events were lost since too many wait; see reactor_worker_threads and reactor_worker_hwm", total-told)
		if err := r.o.Bus.Fire(DroppedTag, body); err != nil {
			r.o.Log.WithError(err).Errorf("the event %s cannot be fired", DroppedTag)
		}
		told = total
	}
}

// react does all that the files say. A panic is the fault of one event alone.
func (r *Reactor) react(ctx context.Context, tag string, body *data.Map, files []string) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Errorf("reactor: event %q: panic: %v\n%s", tag, p, debug.Stack())
		}
	}()
	high := &High{}
	for _, ref := range files {
		r.load(ctx, high, ref, data.NewMap("tag", tag, "data", body))
	}
	reactions, err := high.Compile()
	if err != nil {
		r.o.Log.Errorf("Unable to render reactions for event %s due to errors (%v) in one or more of the sls files (%s)", tag, err, data.Repr(data.Values(files)))
		return
	}
	for _, reaction := range reactions {
		if ctx.Err() != nil {
			return
		}
		r.do(ctx, reaction)
	}
}

// do does one reaction.
func (r *Reactor) do(ctx context.Context, reaction *Reaction) {
	err := reaction.do(ctx, r.o.Orders, r.o.Log)
	if err != nil && !errors.Is(err, context.Canceled) {
		r.o.Log.Errorf("Reactor '%s' failed to execute %s '%s': %v", reaction.ID, reaction.Type, reaction.Fun, err)
	}
}

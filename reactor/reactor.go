// Package reactor executes actions in response to events. If the tag of an event matches a rule,
// the files of that rule define the reactions (salt/utils/reactor.py; option reactor).
//
//	r, err := reactor.New(reactor.Options{Bus: bus, Rules: option, Orders: orders, Log: log})
//	err = r.Run(ctx, ready)
//
// A file is rendered for each event (see [Rendered]) with its tag and data, and yields reactions by
// id. There are four types: local sends a job to minions, runner and wheel call functions on the
// master, and caller calls execution modules there. The reactions to one event run one after the
// other, in file order or as set by order.
//
// # Queues
//
// The bus never blocks. Matching events wait in a queue with limits on number and bytes, which
// several workers process. Events of one minion, identified by the field id, are processed in
// order; a slow reaction does not delay other events. Events that do not fit are dropped and
// counted; every ten seconds the event salt/reactor/dropped and the log report the number.
//
// # Loops
//
// The reactor acts as the user Reactor, and ignores events that name this user. Salt does so for
// runners and wheel functions only.
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

// User is the user name of jobs started by the reactor.
const User = "Reactor"

// DroppedTag is the tag of events about dropped events: dropped is their number, total that since
// the start, and waiting the queue length.
const DroppedTag = "salt/reactor/dropped"

const (
	reportEvery = 10 * time.Second
	maxWaiting  = 64 << 20 // memory of waiting events, in bytes
)

// Options configure a Reactor.
type Options struct {
	Bus    *eventbus.Bus
	Rules  any // option reactor
	Orders Orders
	// Read reads a salt:// file; nil means that there are none.
	Read func(ctx context.Context, path string) ([]byte, error)
	// Render renders files; nil means Plain.
	Render Render
	// Key returns the key that must authenticate events that change rules: by [Sign], or contained
	// under key as in Salt's events. If it is nil or returns "", no such event is accepted.
	Key     func() string
	ID      string // id of the master
	Workers int    // option reactor_worker_threads; at least 1
	Queue   int    // option reactor_worker_hwm: maximum number of waiting events
	// Turns decides which master of a cluster reacts to an event; nil means this one.
	Turns Turns
	Log   logrus.FieldLogger
}

// A Reactor reacts to the events of a bus.
type Reactor struct {
	o      Options
	live   atomic.Pointer[table]
	mu     sync.Mutex // held while rules change
	leader atomic.Bool
	total  atomic.Uint64 // dropped events
}

// New returns a Reactor. The error reports invalid rules; the others are active.
func New(o Options) (*Reactor, error) {
	if o.Render == nil {
		o.Render = Plain
	}
	r := &Reactor{o: o}
	r.leader.Store(true)
	return r, r.SetRules(o.Rules)
}

// SetRules replaces all rules with those of the option reactor. The error reports invalid rules,
// which are left out.
func (r *Reactor) SetRules(option any) error {
	rules, err := ParseRules(option)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live.Store(newTable(rules))
	return err
}

// Rules returns the active rules.
func (r *Reactor) Rules() []Rule { return slices.Clone(r.live.Load().rules) }

// Dropped returns the number of dropped events.
func (r *Reactor) Dropped() uint64 { return r.total.Load() }

// Run reacts to events fired after it has called ready, until ctx ends. Then it cancels running
// reactions and waits for them.
func (r *Reactor) Run(ctx context.Context, ready func()) error {
	events := r.o.Bus.Subscribe(eventbus.SubscribeOptions{Name: "reactor", Match: r.wants,
		MaxEvents: max(r.o.Queue, 1), Private: true})
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

// take queues an event if a rule matches it.
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
	var start func()
	start = func() {
		if !p.offer(task{id, len(event.Data),
			func(ctx context.Context) { r.react(ctx, event, body, files, start) }}) {
			r.total.Add(1)
		}
	}
	if r.o.Turns != nil {
		r.o.Turns.Wait(event, start)
		return
	}
	start()
}

// report reports dropped events until ctx ends.
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
		body := data.NewMap("dropped", int64(total-told), "total", int64(total),
			"waiting", int64(p.waiting()), "user", User)
		r.o.Log.Errorf("reactor: %d events were lost since too many wait; see reactor_worker_threads and reactor_worker_hwm", total-told)
		if err := r.o.Bus.Fire(DroppedTag, body); err != nil {
			r.o.Log.WithError(err).Errorf("the event %s cannot be fired", DroppedTag)
		}
		told = total
	}
}

// react executes the reactions of the files, if it is this master's turn. start queues the event once
// more. A panic affects only this event.
func (r *Reactor) react(
	ctx context.Context, event eventbus.Event, body *data.Map, files []string, start func(),
) {
	tag := event.Tag
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Errorf("reactor: event %q: panic: %v\n%s", tag, p, debug.Stack())
		}
	}()
	if r.o.Turns == nil {
		r.reactAll(ctx, tag, body, files, 0, func(context.Context, int) bool { return true })
		return
	}
	turn, ok := r.o.Turns.Begin(ctx, event, start)
	if !ok {
		return
	}
	defer turn.End()
	r.reactAll(turn.Context(), tag, body, files, turn.Next(), turn.Step)
}

// reactAll executes the reactions of the files from the one with an index on. step is called before
// each, and reports whether to go on.
func (r *Reactor) reactAll(
	ctx context.Context, tag string, body *data.Map, files []string, from int,
	step func(context.Context, int) bool,
) {
	high := &High{}
	for _, ref := range files {
		r.load(ctx, high, ref, data.NewMap("tag", tag, "data", body))
	}
	reactions, err := high.Compile()
	if err != nil {
		r.o.Log.Errorf("Unable to render reactions for event %s due to errors (%v) in one or more of the sls files (%s)", tag, err, data.Repr(data.Values(files)))
		return
	}
	for i, reaction := range reactions {
		if i < from {
			continue
		}
		if ctx.Err() != nil || !step(ctx, i) {
			return
		}
		r.do(ctx, reaction)
	}
}

// do executes one reaction.
func (r *Reactor) do(ctx context.Context, reaction *Reaction) {
	err := reaction.do(ctx, r.o.Orders, r.o.Log)
	if err != nil && !errors.Is(err, context.Canceled) {
		r.o.Log.Errorf("Reactor '%s' failed to execute %s '%s': %v", reaction.ID, reaction.Type,
			reaction.Fun, err)
	}
}

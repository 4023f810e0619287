package beacons

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Run runs the beacons until ctx ends, and then waits for those under way. Without beacons it
// sleeps. It may be called again after it has ended.
func (e *Engine) Run(ctx context.Context) error {
	e.open(ctx)
	defer e.leave()
	tick := time.NewTicker(e.o.Turn)
	defer tick.Stop()
	for ctx.Err() == nil {
		if e.idle() {
			tick.Stop()
			select {
			case <-ctx.Done():
			case <-e.wake:
			}
			tick.Reset(e.o.Turn)
			continue
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-tick.C:
			e.turn(ctx)
		}
	}
	return ctx.Err()
}

func (e *Engine) open(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ctx = ctx
	e.arrange()
}

// leave ends all watches.
func (e *Engine) leave() {
	e.mu.Lock()
	e.ctx = nil
	for _, w := range e.watches {
		w.drop()
	}
	e.watches = nil
	e.mu.Unlock()
	e.work.Wait()
}

func (e *Engine) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.watches) == 0
}

// turn calls the beacons that are due and fires their events together. It waits for the length of a
// turn at most; later events are fired when their beacon ends.
func (e *Engine) turn(ctx context.Context) {
	started := e.begin()
	if len(started) == 0 {
		return
	}
	b := &batch{events: make([][]any, len(started)), missing: len(started), full: make(chan struct{})}
	for i, s := range started {
		e.work.Go(func() {
			events := e.perform(s)
			if late := b.add(i, events); late {
				e.fire(events)
			}
		})
	}
	wait := time.NewTimer(e.o.Turn)
	defer wait.Stop()
	select {
	case <-b.full:
	case <-wait.C:
	case <-ctx.Done():
	}
	e.fire(b.close())
}

// A start is a beacon whose turn begins.
type start struct {
	*watch
	due bool // it runs; otherwise its configuration is judged only
}

// tooBusy is how many turns a beacon may miss before that is logged.
const tooBusy = 60

// begin counts a turn and returns the beacons that have something to do in it.
func (e *Engine) begin() []start {
	e.mu.Lock()
	defer e.mu.Unlock()
	var started []start
	for _, w := range e.watches {
		if w.busy || w.spent {
			if w.missed++; w.busy && w.missed == tooBusy {
				e.o.Log.Warnf("Beacon %s has not ended for %d turns.", w.name, tooBusy)
			}
			continue
		}
		if w.stale {
			w.judged, w.stale = false, false
		}
		if w.judged && !w.valid {
			continue
		}
		if due := w.due(e.o.Turn); due || !w.judged {
			w.busy = true
			started = append(started, start{w, due})
		}
	}
	return started
}

// perform is the turn of one beacon. It returns the events for the master.
func (e *Engine) perform(s start) []any {
	defer e.finish(s.watch)
	if !s.judged {
		s.valid, s.judged = e.judge(s.watch), true
	}
	switch {
	case !s.valid || !s.due:
		return nil
	case s.set.yields && e.stateRuns():
		e.giveWay(s.watch)
		return nil
	}
	events, err := e.call(s.watch)
	switch {
	case s.ctx.Err() != nil:
		return nil
	case err != nil:
		e.o.Log.Errorf("Unable to start %s beacon, %v", s.name, err)
		return []any{data.NewMap("tag", e.tag(s.name, ""), "error", err.Error(), "data", data.NewMap(),
			"beacon_name", s.set.module)}
	case s.set.once:
		e.spend(s.watch)
	}
	return events
}

// finish ends the turn of a beacon.
func (e *Engine) finish(w *watch) {
	builtIn := e.isBuiltIn(w.set.module)
	e.mu.Lock()
	defer e.mu.Unlock()
	w.busy, w.missed, w.builtIn = false, 0, builtIn
	if w.dropped {
		w.end()
	}
}

// giveWay closes a beacon while states run, if it can be closed.
func (e *Engine) giveWay(w *watch) {
	fun := w.set.module + ".close"
	if !e.o.Functions.Has(fun) {
		e.o.Log.Infof("Skipping beacon %s. State run in progress.", w.name)
		return
	}
	e.o.Log.Infof("Closing beacon %s. State run in progress.", w.name)
	if _, err := e.o.Functions.Invoke(w.ctx, fun, []any{data.Clone(w.set.config)}, nil); err != nil {
		e.o.Log.WithError(err).Errorf("close beacon %s", w.name)
	}
}

// errEvents is returned for a beacon that does not return events.
var errEvents = errors.New("the beacon did not return a list of dictionaries")

// call runs a beacon once and returns its events for the master.
func (e *Engine) call(w *watch) ([]any, error) {
	ctx := loader.WithContext(w.ctx, &loader.Context{}) // of this call, as of a job
	v, err := e.o.Functions.Invoke(ctx, w.set.module+".beacon", []any{data.Clone(w.set.config)}, nil)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case nil, []any, data.Tuple:
	default:
		return nil, fmt.Errorf("%w: %s", errEvents, loader.TypeName(v))
	}
	var events []any
	for _, item := range e.capped(w, data.ListOf(v)) {
		body, ok := item.(*data.Map)
		if !ok {
			return nil, fmt.Errorf("%w: an item is %s", errEvents, data.Repr(item))
		}
		events = append(events, e.event(w, body.Clone()))
	}
	return events, nil
}

// mostEvents is how many events of a beacon a turn has. The kernel keeps fewer for inotify.
const mostEvents = 20_000

// capped returns as many events of a beacon as a turn may have. The first turn in a row with more is
// logged.
func (e *Engine) capped(w *watch, list []any) []any {
	over := len(list) > mostEvents
	if over && !w.over {
		e.o.Log.Warnf("Beacon %s reported %d events in a turn; only the first %d are sent.", w.name, len(list),
			mostEvents)
	}
	w.over = over
	return list[:min(len(list), mostEvents)]
}

// event returns an event for the master from one that a beacon reports.
func (e *Engine) event(w *watch, body *data.Map) *data.Map {
	own := ""
	if v, ok := body.Get("tag"); ok {
		own = data.Str(v)
		body.Delete("tag")
	}
	if !body.Has("id") {
		body.Set("id", e.o.ID)
	}
	return data.NewMap("tag", e.tag(w.name, own), "data", body, "beacon_name", w.set.module)
}

// maxTag is the length of the longest tag that a Brine master accepts.
const maxTag = 1000

// clean returns a tag that masters accept: a byte that is no printable ASCII, such as the space in the
// path of a file, becomes % and two hexadecimal digits, and what is too long is cut off.
func clean(tag string) string {
	var b strings.Builder
	for i := range len(tag) {
		if c := tag[i]; c < '!' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()[:min(b.Len(), maxTag)]
}

// tag returns the tag of an event of a beacon. own is its end, which the beacon gives it.
func (e *Engine) tag(name, own string) string {
	return clean("salt/beacon/" + e.o.ID + "/" + name + "/" + own)
}

// fire fires the events of a turn. They are split into several events of the bus, which would replace
// a list that is too long by a text.
func (e *Engine) fire(events []any) {
	var part []any
	size := 0
	for _, event := range events {
		encoded, err := payload.MarshalBin(event)
		if err != nil {
			body, _ := event.(*data.Map)
			e.o.Log.WithError(err).Errorf("encode event %s of a beacon", body.Text("tag"))
			continue
		}
		if size += len(encoded); size > e.o.MaxEventSize/2 {
			e.firePart(part)
			part, size = nil, len(encoded)
		}
		part = append(part, event)
	}
	e.firePart(part)
}

// firePart fires events together.
func (e *Engine) firePart(events []any) {
	if len(events) == 0 {
		return
	}
	if err := e.o.Fire(ReturnTag, data.NewMap("beacons", events)); err != nil {
		e.o.Log.WithError(err).Error("fire the events of beacons")
	}
}

// spend ends a beacon with run_once: it is disabled in the configuration, unless it belongs to the
// pillar.
func (e *Engine) spend(w *watch) {
	e.mu.Lock()
	w.spent = true
	e.mu.Unlock()
	tag, body, err := e.Manage(context.WithoutCancel(w.ctx),
		data.NewMap("func", "disable_beacon", "name", w.name))
	if err == nil {
		err = e.o.Fire(tag, body)
	}
	if err != nil {
		e.o.Log.WithError(err).Errorf("disable beacon %s", w.name)
	}
}

// A batch collects the events of a turn.
type batch struct {
	mu      sync.Mutex
	events  [][]any // by beacon
	missing int     // beacons that have not ended
	closed  bool
	full    chan struct{} // closed when all have ended
}

// add adds the events of a beacon, unless the turn is over. Then it reports that they are late.
func (b *batch) add(i int, events []any) (late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return true
	}
	b.events[i] = events
	if b.missing--; b.missing == 0 {
		close(b.full)
	}
	return false
}

// close ends the turn and returns the events, in the order of the configuration.
func (b *batch) close() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var all []any
	for _, events := range b.events {
		all = append(all, events...)
	}
	return all
}

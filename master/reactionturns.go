package master

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/reactor"
)

const (
	// mostHeld and heldBytes bound what is kept.
	mostHeld  = 10_000
	heldBytes = 64 << 20
)

// holdTime returns how long an event is kept for the next leader, if leases last for a time. Of two members
// that begin to lead one after the other the second is in time, too.
func holdTime(lease time.Duration) time.Duration { return lease + 2*(prepareTime+leadPause) }

// reactionTurns lets the leading member react to events. The other members keep events until the
// leader says that the reactions have ended. A member that begins to lead goes on with what it has
// kept: with the reactions that were not begun.
type reactionTurns struct {
	base
	lead  *leadership
	notes *onceNotes
	life  time.Duration   // for which an event is kept
	tell  func(id uint64) // tells the other members that the reactions to an event have ended

	mu      sync.Mutex
	leading bool
	held    map[uint64]heldEvent
	order   []uint64 // the oldest first; may have ids that are not held any more, 2*mostHeld in all at most
	bytes   int
}

// A heldEvent waits for the end of the reactions on another member.
type heldEvent struct {
	at    time.Time
	size  int
	start func()
}

var _ reactor.Turns = (*reactionTurns)(nil)

func newReactionTurns(c *member) *reactionTurns {
	return &reactionTurns{base: c.base, lead: c.lead, notes: c.notes, life: c.hold,
		tell: c.bridge.tellReacted, held: map[uint64]heldEvent{}}
}

// eventID returns a number that is the same on all members. The stamp of an event that each member
// fires itself does not count. It is a part of a SHA-256 sum: no minion can make an event with the
// number of another minion's.
func eventID(e eventbus.Event) uint64 {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(e.Tag))))
	h.Write([]byte(e.Tag))
	fields, err := payload.ParseFields(e.Data, payload.WireLimits())
	if !e.Here || err != nil {
		h.Write(e.Data)
		return binary.BigEndian.Uint64(h.Sum(nil))
	}
	for _, f := range fields {
		if f.Key != "_stamp" {
			h.Write(binary.AppendUvarint(nil, uint64(len(f.Key))))
			h.Write([]byte(f.Key))
			h.Write(f.Value)
		}
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Wait implements reactor.Turns.
func (t *reactionTurns) Wait(event eventbus.Event, start func()) {
	t.mu.Lock()
	leading := t.leading && t.lead.leads()
	if !leading {
		t.keep(event, start)
	}
	t.mu.Unlock()
	if leading {
		start()
	}
}

// keep holds an event, and drops what is too old or too much. The caller holds mu.
func (t *reactionTurns) keep(event eventbus.Event, start func()) {
	id, e := eventID(event), heldEvent{t.now(), len(event.Data), start}
	if old, ok := t.held[id]; ok {
		t.bytes -= old.size
	}
	t.held[id] = e
	t.order = append(t.order, id)
	t.bytes += e.size
	for len(t.order) > 0 {
		oldest, ok := t.held[t.order[0]]
		if ok && len(t.held) <= mostHeld && t.bytes <= heldBytes && e.at.Sub(oldest.at) < t.life {
			break
		}
		t.drop(t.order[0])
		t.order = t.order[1:]
	}
	if len(t.order) > 2*mostHeld {
		t.shorten()
	}
}

// shorten removes from the order what is not held any more, and what is there again later. The caller holds
// mu.
func (t *reactionTurns) shorten() {
	seen := make(map[uint64]bool, len(t.held))
	var left []uint64
	for _, id := range slices.Backward(t.order) {
		if _, ok := t.held[id]; ok && !seen[id] {
			seen[id] = true
			left = append(left, id)
		}
	}
	slices.Reverse(left)
	t.order = left
}

// drop forgets an event. The caller holds mu.
func (t *reactionTurns) drop(id uint64) {
	if e, ok := t.held[id]; ok {
		t.bytes -= e.size
		delete(t.held, id)
	}
}

// ended forgets an event whose reactions have ended on another member.
func (t *reactionTurns) ended(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(id)
}

// begin starts the reactions that are left, when this member begins to lead.
func (t *reactionTurns) begin() {
	done := t.notes.done()
	t.mu.Lock()
	t.leading = true
	var starts []func()
	for _, id := range t.order {
		if e, ok := t.held[id]; ok && t.now().Sub(e.at) < t.life && !done[id] {
			starts = append(starts, e.start)
		}
		t.drop(id)
	}
	t.order = nil
	t.mu.Unlock()
	for _, start := range starts {
		start()
	}
}

// end keeps events again, when this member does not lead any more.
func (t *reactionTurns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leading = false
}

// Begin implements reactor.Turns.
func (t *reactionTurns) Begin(
	ctx context.Context, event eventbus.Event, start func(),
) (reactor.Turn, bool) {
	led, done, ok := t.lead.now(ctx)
	if !ok {
		t.lost(ctx, event, start)
		return nil, false
	}
	note := t.notes.event(eventID(event))
	if note.Done {
		done()
		return nil, false
	}
	return &reactionTurn{t: t, ctx: led, done: done, note: note,
		lost: func() { t.lost(ctx, event, start) }, hold: func() { t.hold(event, start) }}, true
}

// hold keeps an event until this member begins to lead anew.
func (t *reactionTurns) hold(event eventbus.Event, start func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(event, start)
}

// lost keeps an event whose turn is lost. Nothing is kept once ctx, that of the reactor, has ended.
func (t *reactionTurns) lost(ctx context.Context, event eventbus.Event, start func()) {
	if ctx.Err() == nil {
		t.Wait(event, start)
	}
}

// A reactionTurn implements reactor.Turn.
type reactionTurn struct {
	t       *reactionTurns
	ctx     context.Context
	done    func()
	lost    func() // keeps the event, or starts it if this member leads again
	hold    func() // keeps the event
	note    eventNote
	refused bool
}

func (r *reactionTurn) Context() context.Context { return r.ctx }

func (r *reactionTurn) Next() int { return r.note.Next }

// Step waits as long as the cluster does not answer or has no room.
func (r *reactionTurn) Step(ctx context.Context, index int) bool {
	next := r.note
	next.Next = index + 1
	for {
		err := r.t.notes.note(ctx, next)
		if err == nil {
			r.note = next
			return true
		}
		if !passes(err) {
			r.t.log.WithError(err).Warn("reactor: this master does not react to an event")
			r.refused = true
			return false
		}
		r.t.quiet.Warnf(r.t.log.WithError(err), "note of a reaction",
			"reactor: a reaction to an event waits until the cluster notes it")
		if clock.Sleep(ctx, notePause) != nil {
			return false // the lead has ended, or the master
		}
	}
}

// passes reports whether the cause of an error of the cluster may end while this member leads.
func passes(err error) bool {
	return errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrFull) ||
		errors.Is(err, cluster.ErrBusy)
}

func (r *reactionTurn) End() {
	defer r.done()
	if r.ctx.Err() != nil {
		r.lost()
		return
	}
	if r.refused { // another member leads, as the cluster says
		r.hold()
		return
	}
	r.note.Done = true
	if err := r.t.notes.note(r.ctx, r.note); err != nil {
		r.t.log.WithError(err).Warn("reactor: note the end of the reactions to an event")
		return
	}
	r.t.tell(r.note.ID)
}

package master

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// sinkTurns lets the leading member pass events to a returner of event_return. The other members keep
// events until the leader says that they are stored. A member that begins to lead stores what it has
// kept. Events that were stored right before the last leader ended may be stored twice.
type sinkTurns struct {
	name string // of the returner
	lead *leadership
	now  func() time.Time
	life time.Duration                   // for which an event is kept
	tell func(name string, ids []uint64) // tells the other members which events are stored

	mu    sync.Mutex
	done  map[uint64]time.Time // events that another member has stored, and when it said so
	order []uint64             // of done, the oldest first
}

// A keptEvent waits until the leader says that it is stored.
type keptEvent struct {
	at    time.Time
	id    uint64
	event eventbus.Event
}

func (k keptEvent) size() int { return len(k.event.Tag) + len(k.event.Data) }

// keptEvents are events in the order in which they came.
type keptEvents struct {
	list  []keptEvent
	bytes int
}

func (k *keptEvents) add(e keptEvent) {
	k.list = append(k.list, e)
	k.bytes += e.size()
}

// full reports whether there are more events than are to be kept.
func (k *keptEvents) full() bool { return len(k.list) > mostHeld || k.bytes > heldBytes }

// old drops the events that are kept for a time already.
func (k *keptEvents) old(now time.Time, life time.Duration) {
	for len(k.list) > 0 && now.Sub(k.list[0].at) >= life {
		k.drop()
	}
}

// drop drops the oldest event.
func (k *keptEvents) drop() {
	k.bytes -= k.list[0].size()
	k.list[0] = keptEvent{}
	k.list = k.list[1:]
}

// stored tells the other members which events are stored.
func (s *sinkTurns) stored(ids []uint64) { s.tell(s.name, ids) }

// mostDone is how many stored events are remembered: more than are kept.
const mostDone = 4 * mostHeld

// heard notes which events another member has stored.
func (s *sinkTurns) heard(ids []uint64) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, known := s.done[id]; !known { // one that is told again keeps its time
			s.done[id] = now
			s.order = append(s.order, id)
		}
	}
	old := 0
	for old < len(s.order) && (len(s.order)-old > mostDone || now.Sub(s.done[s.order[old]]) > 2*s.life) {
		delete(s.done, s.order[old])
		old++
	}
	s.order = s.order[old:]
}

// run stores events whenever this member leads, until ctx ends.
func (s *sinkTurns) run(ctx context.Context, g *gathering, to returners.EventReturner) {
	kept := &keptEvents{}
	for ctx.Err() == nil {
		s.keep(ctx, g.events, kept)
		led, done, ok := s.lead.now(ctx)
		if !ok {
			continue
		}
		s.drop(g) // what was left of an earlier lead
		s.thin(kept)
		for _, k := range kept.list {
			g.add(k.event)
		}
		*kept = keptEvents{}
		if g.e.deliver(led, to, g) == nil {
			g.store(led, to)
		}
		if ctx.Err() != nil { // the master ends, and leads until then
			g.e.finish(to, g)
		}
		done()
	}
}

// keep adds events to those that are kept until this member leads.
func (s *sinkTurns) keep(ctx context.Context, events *eventbus.Subscription, kept *keptEvents) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if _, done, err := s.lead.await(waiting); err == nil {
			done()
			cancel()
		}
	}()
	for {
		event, err := events.Next(waiting)
		if err != nil {
			return
		}
		s.hold(kept, event)
	}
}

// hold adds an event to those that are kept, and drops what is too old or too much: first what is
// stored, then the oldest.
func (s *sinkTurns) hold(kept *keptEvents, event eventbus.Event) {
	now := s.now()
	kept.old(now, s.life)
	kept.add(keptEvent{now, eventID(event), event})
	if !kept.full() {
		return
	}
	s.thin(kept)
	for len(kept.list) > mostHeld/2 || kept.bytes > heldBytes/2 { // so that it is not full again at once
		kept.drop()
	}
}

// drop removes from a batch what another member has stored.
func (s *sinkTurns) drop(g *gathering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, ids := g.batch, g.ids
	g.batch, g.ids = nil, nil
	for i, id := range ids {
		if _, done := s.done[id]; !done {
			g.batch, g.ids = append(g.batch, batch[i]), append(g.ids, id)
		}
	}
}

// thin drops the events that are too old and those that somebody has stored.
func (s *sinkTurns) thin(kept *keptEvents) {
	kept.old(s.now(), s.life)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := kept.list
	*kept = keptEvents{}
	for _, k := range all {
		if _, done := s.done[k.id]; !done {
			kept.add(k)
		}
	}
}

// appendStored returns the message that says which events a returner has stored.
func appendStored(name string, ids []uint64) []byte {
	m := binary.AppendUvarint(nil, uint64(len(name)))
	m = append(m, name...)
	for _, id := range ids {
		m = binary.BigEndian.AppendUint64(m, id)
	}
	return m
}

// parseStored reads what appendStored wrote.
func parseStored(m []byte) (name string, ids []uint64, err error) {
	size, n := binary.Uvarint(m)
	if n <= 0 || size > uint64(len(m)-n) || (len(m)-n-int(size))%8 != 0 {
		return "", nil, fmt.Errorf("%w: which events are stored", payload.ErrInvalid)
	}
	name, m = string(m[n:n+int(size)]), m[n+int(size):]
	for ; len(m) > 0; m = m[8:] {
		ids = append(ids, binary.BigEndian.Uint64(m))
	}
	return name, ids, nil
}

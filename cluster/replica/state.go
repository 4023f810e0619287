package replica

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/brineproject/brine/cluster"
)

// state is what a Bank knows about the shelf. Bank.mu guards it.
type state struct {
	// Names that wait. The value is false while the copy is being changed.
	waiting map[string]bool
	order   []string // those to send next, none of them under way
	// Names that wait because the copy differs from the shelf, or has what the shelf lacks. This member may
	// not have changed them: what the shelf has got since wins.
	doubtful  map[string]bool
	overflow  bool // other names than those wait, too: the copy is to be compared
	comparing bool
	journal   *journal
	more      chan struct{} // has an element if order may have one
	room      chan struct{} // has an element if names have been sent
	review    chan struct{} // has an element if the copy may have to be compared

	flights map[string]*flight
	acked   map[string]uint64 // revisions of this member's changes that Run has not been told yet
	failed  map[string]bool   // names whose changes could not be applied
	logged  map[string]bool   // names whose values are too large

	epoch    int             // rises with each new stream
	stream   string          // its mark
	position uint64          // the revision up to which changes are applied
	seen     map[string]bool // names that the shelf has, while it is read from its begin
	offer    map[string]bool // the same, when it was read
	current  bool            // all is applied that the shelf had
	whole    bool            // all is offered that only the copy had
	loaded   bool            // the position is read
}

func newState() state {
	signal := func() chan struct{} { return make(chan struct{}, 1) }
	return state{waiting: map[string]bool{}, doubtful: map[string]bool{}, more: signal(), room: signal(), review: signal(),
		flights: map[string]*flight{}, acked: map[string]uint64{}, failed: map[string]bool{},
		logged: map[string]bool{}}
}

// A flight is a change on its way to the cluster. There is one at a time for a name.
type flight struct {
	epoch    int
	doubtful bool
	known    uint64         // the last revision of the name that the copy can have had when the flight began
	later    *cluster.Value // the last change that came in the meantime
	done     chan struct{}
}

// mine reports whether a change by this member waits, which the copy keeps. The caller holds mu.
func (b *Bank) mine(name string) bool {
	_, ok := b.waiting[name]
	return ok && !b.doubtful[name]
}

// known returns up to which revision the copy has the changes of a name, unless changes wait. The caller
// holds mu.
func (b *Bank) known(name string) uint64 { return max(b.position, b.acked[name]) }

func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Current reports whether the copy has all that the shelf had when Run began to follow it.
func (b *Bank) Current() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current
}

// note records that a name is going to wait, before its copy changes. The caller holds its stripe
// and calls ready or undo.
func (b *Bank) note(name string) (undo func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	none := func() {}
	if _, ok := b.waiting[name]; ok {
		if !b.doubtful[name] {
			return none, nil
		}
		delete(b.doubtful, name)
		return func() { // it is still not this member's own change
			b.mu.Lock()
			defer b.mu.Unlock()
			if _, ok := b.waiting[name]; ok {
				b.doubtful[name] = true
			}
		}, nil
	}
	delete(b.doubtful, name)
	if len(b.waiting) >= b.o.MaxWaiting {
		b.overflow = true
		return none, b.journal.addAll()
	}
	if err := b.journal.add(name); err != nil {
		return none, err
	}
	b.waiting[name] = false
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, name)
	}, nil
}

// ready lets a noted name be sent.
func (b *Bank) ready(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failed, name)
	ready, ok := b.waiting[name]
	switch {
	case ok && ready:
	case ok:
		b.add(name)
	case len(b.waiting) < b.o.MaxWaiting:
		// it waited before, and a sender has taken it with the value that the copy had then
		b.remember(name)
		b.add(name)
	default:
		b.overflow = true
		if err := b.journal.addAll(); err != nil {
			b.o.Log.WithError(err).Errorf("that cache entry %s waits is not saved", name)
		}
	}
}

// add puts a name in the queue. The caller holds mu.
func (b *Bank) add(name string) {
	b.waiting[name] = true
	if b.flights[name] == nil {
		b.order = append(b.order, name)
		raise(b.more)
	}
}

// next takes a name from the queue and makes a flight of it, or waits for one.
func (b *Bank) next(ctx context.Context) (string, bool) {
	for ctx.Err() == nil {
		b.mu.Lock()
		if len(b.order) > 0 {
			name := b.order[0]
			b.order = b.order[1:]
			if len(b.order) > 0 {
				raise(b.more)
			}
			ready := b.waiting[name] && b.flights[name] == nil
			if ready {
				b.flights[name] = &flight{epoch: b.epoch, doubtful: b.doubtful[name], known: b.known(name),
					done: make(chan struct{})}
				delete(b.waiting, name)
				delete(b.doubtful, name)
			}
			b.mu.Unlock()
			if ready {
				return name, true
			}
			continue
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-b.more:
		}
	}
	return "", false
}

// depart makes a flight of a name, when there is no other.
func (b *Bank) depart(ctx context.Context, name string) error {
	for {
		b.mu.Lock()
		f := b.flights[name]
		if f == nil {
			b.flights[name] = &flight{epoch: b.epoch, done: make(chan struct{})}
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("wait for an earlier change: %w: %w", cluster.ErrUnavailable, ctx.Err())
		}
	}
}

// land ends a flight. revision is that of the change in the stream, 0 if it is not known to be there.
// write, unless it is nil, changes the copy if no later change has come.
func (b *Bank) land(e entry, revision uint64, write func() error) error {
	stripe := b.stripe(e.bank)
	stripe.Lock()
	b.mu.Lock()
	f := b.flights[e.name]
	dirty := b.mine(e.name)
	later := f.later
	b.mu.Unlock()
	// the flight lasts until the copy is changed: no other one may pass
	var err error
	changed := false
	switch {
	case later != nil && later.Revision > revision:
		if !dirty {
			changed = b.apply(e, *later)
		}
	case write != nil:
		err = write()
	}
	b.mu.Lock()
	delete(b.flights, e.name)
	close(f.done)
	switch {
	case f.epoch != b.epoch, err != nil:
		// what the copy has is to be looked at once more
		if !dirty {
			b.waiting[e.name] = true
			delete(b.doubtful, e.name)
			b.remember(e.name)
		}
	case revision > b.position:
		b.acked[e.name] = revision
	}
	b.arrived(e.name)
	b.mu.Unlock()
	stripe.Unlock()
	if changed {
		b.o.Changed(e.bank, e.key)
	}
	return err
}

// requeue ends a flight that has failed; its name waits again.
func (b *Bank) requeue(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.flights[name]
	close(f.done)
	delete(b.flights, name)
	if _, ok := b.waiting[name]; !ok {
		b.waiting[name] = true
		if f.doubtful {
			b.doubtful[name] = true
		}
	}
	b.arrived(name)
}

// remember adds a name to the journal. For a durable bank the shelf is right after a restart. The
// caller holds mu.
func (b *Bank) remember(name string) {
	if !b.isLazy(name) {
		return
	}
	if err := b.journal.add(name); err != nil {
		b.o.Log.WithError(err).Errorf("that cache entry %s waits is not saved", name)
	}
}

func (b *Bank) isLazy(name string) bool {
	bank, _, err := split(name)
	return err == nil && b.modeOf(bank) == lazy
}

// arrived goes on after a flight. The caller holds mu.
func (b *Bank) arrived(name string) {
	if b.waiting[name] {
		b.order = append(b.order, name)
		raise(b.more)
	}
	raise(b.room)
	b.tidy()
}

// tidy shortens the journal to what still waits. The caller holds mu.
func (b *Bank) tidy() {
	if len(b.waiting) == 0 && b.overflow {
		raise(b.review)
	}
	empty := len(b.waiting)+len(b.flights) == 0 && !b.overflow && !b.comparing
	if !empty && b.journal.lines < 2*b.o.MaxWaiting+1000 {
		return
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.waiting)), maps.Keys(b.flights))
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !b.isLazy(name) })
	if err := b.journal.replace(names, b.overflow || b.comparing || b.anyDoubt()); err != nil {
		b.o.Log.WithError(err).Error("the names of cache entries that wait are not shortened")
	}
}

// anyDoubt reports whether there are doubtful names. The caller holds mu.
func (b *Bank) anyDoubt() bool {
	if len(b.doubtful) > 0 {
		return true
	}
	for _, f := range b.flights {
		if f.doubtful {
			return true
		}
	}
	return false
}

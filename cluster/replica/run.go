package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/clock"
)

const (
	senders    = 8
	pause      = time.Second // after a failure of the cluster
	attempts   = 3           // to change the copy
	applyPause = 200 * time.Millisecond
	// streamKey is the key of a random mark, by which a new stream is recognized. It is no name of an
	// entry.
	streamKey = ".stream"
)

// errOther says that the shelf has another mark than before.
var errOther = errors.New("the shelf is another one")

// Run sends what waits and applies the changes of other members to the copy, until ctx ends, which is
// no error. It outlives the loss of servers. It fails if the position cannot be loaded or saved.
func (b *Bank) Run(ctx context.Context) error {
	if err := b.loadPosition(); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	for range senders {
		work.Go(func() { b.send(working) })
	}
	work.Go(func() { b.revise(working) })
	err := b.follow(working)
	stop()
	work.Wait()
	return errors.Join(err, b.savePosition())
}

// follow applies changes until ctx ends.
func (b *Bank) follow(ctx context.Context) error {
	for {
		stream, err := b.shared.Identify(ctx, streamKey)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow the shelf: %w", err)
		}
		err = b.shared.Follow(ctx, b.begin(stream), b.synced, b.take)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, cluster.ErrRestarted), errors.Is(err, errOther):
			b.o.Log.WithError(err).Warn("the shared cache begins anew")
			b.restart()
		case err != nil:
			return fmt.Errorf("follow the shelf: %w", err)
		}
	}
}

// begin returns the position in the stream with a mark.
func (b *Bank) begin(stream string) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != stream || !b.whole {
		b.reset()
		b.stream = stream
	}
	return b.position
}

func (b *Bank) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reset()
}

// reset prepares for reading the stream from its begin. The caller holds mu.
func (b *Bank) reset() {
	b.epoch++
	b.stream, b.position = "", 0
	b.current, b.whole = false, false
	b.seen, b.offer = map[string]bool{}, nil
	clear(b.acked)
	clear(b.failed)
	for _, f := range b.flights {
		f.later = nil
	}
}

// synced is called when all is applied that the stream had.
func (b *Bank) synced() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = true
	if b.seen != nil {
		b.offer, b.seen = b.seen, nil
	}
	raise(b.review)
}

// take handles one change of the shelf.
func (b *Bank) take(v cluster.Value) error {
	if v.Key == streamKey {
		b.mu.Lock()
		defer b.mu.Unlock()
		if string(v.Body) != b.stream {
			return errOther
		}
		b.position = v.Revision
		return nil
	}
	e, ok := b.entry(v.Key)
	changed := ok && b.receive(e, v)
	b.mu.Lock()
	b.position = v.Revision
	if b.seen != nil {
		b.seen[v.Key] = true
	}
	b.mu.Unlock()
	if changed {
		b.o.Changed(e.bank, e.key)
	}
	return nil
}

// entry returns the entry of a name on the shelf, unless it is none of a shared bank.
func (b *Bank) entry(name string) (entry, bool) {
	bank, key, err := split(name)
	if err != nil {
		b.o.Log.WithError(err).Error("an entry of the shared cache is ignored")
		return entry{}, false
	}
	if b.modeOf(bank) == private {
		b.o.Log.Debugf("entry %q of the shared cache is ignored, since its bank is not shared here", name)
		return entry{}, false
	}
	return entry{name, bank, key}, true
}

// receive applies a change, unless a change of this member comes later in the stream. It reports
// whether the copy has changed.
func (b *Bank) receive(e entry, v cluster.Value) bool {
	stripe := b.stripe(e.bank)
	stripe.Lock()
	defer stripe.Unlock()
	b.mu.Lock()
	dirty := b.mine(e.name)
	f := b.flights[e.name]
	own := b.acked[e.name]
	if v.Revision >= own {
		delete(b.acked, e.name)
	}
	if f != nil {
		f.later = &v
	}
	b.mu.Unlock()
	if dirty || f != nil || v.Revision <= own {
		return false
	}
	return b.apply(e, v)
}

// apply changes the copy to what the shelf has. The caller holds the stripe.
func (b *Bank) apply(e entry, v cluster.Value) (changed bool) {
	old, err := b.read(e.bank, e.key)
	if err == nil && same(old, v.Body) {
		b.applied(e.name, nil)
		return false
	}
	for n := range attempts {
		if n > 0 {
			time.Sleep(applyPause)
		}
		if err = b.write(e.bank, e.key, v.Body); err == nil {
			break
		}
	}
	b.applied(e.name, err)
	return err == nil
}

// applied records the outcome of apply. While a change could not be applied no position is saved, so
// that the next start reads it again.
func (b *Bank) applied(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		delete(b.failed, name)
		return
	}
	b.failed[name] = true
	b.o.Log.WithError(err).Errorf("a change of cache entry %s by another member is not applied", name)
}

// send sends names that wait until ctx ends.
func (b *Bank) send(ctx context.Context) {
	for {
		name, ok := b.next(ctx)
		if !ok {
			return
		}
		bank, key, _ := split(name) // names were checked when they began to wait
		if err := b.deliver(ctx, entry{name, bank, key}); err != nil {
			b.requeue(name)
			if ctx.Err() == nil {
				b.o.Log.WithError(err).Debugf("cache entry %s waits", name)
			}
			_ = clock.Sleep(ctx, pause) // next notices the end
		}
	}
}

// deliver brings the shelf and the copy together: the copy is right in a lazy bank, the shelf in a
// durable one. After an error the flight goes on.
func (b *Bank) deliver(ctx context.Context, e entry) error {
	for {
		ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
		revision, err := b.exchange(ctx, e)
		cancel()
		switch {
		case errors.Is(err, cluster.ErrConflict):
			continue
		case errors.Is(err, cluster.ErrTooLarge):
			b.complain(e.name, err)
		case err != nil:
			return err
		}
		_ = b.land(e, revision, nil) // which writes nothing, and cannot fail
		return nil
	}
}

// exchange is deliver for one attempt, without an end of the flight.
func (b *Bank) exchange(ctx context.Context, e entry) (revision uint64, err error) {
	mine, err := b.read(e.bank, e.key)
	if err != nil {
		b.complain(e.name, err)
		return 0, nil
	}
	theirs, revision, err := b.shared.Get(ctx, e.name)
	// an entry of a key that is unknown here may be another member's: in a durable bank it has to wait
	foreign := errors.Is(err, cluster.ErrSealed) || errors.Is(err, cluster.ErrUnknownKey) && b.modeOf(e.bank) == lazy
	switch {
	case err != nil && !foreign:
		return 0, err
	case !foreign && same(mine, theirs):
		return revision, nil
	case !foreign && b.yields(e, revision):
		b.yield(e.name, cluster.Value{Key: e.name, Body: theirs, Revision: revision})
		return 0, nil
	}
	return b.shared.Set(ctx, e.name, mine, revision)
}

// yields reports whether a difference is settled by the value that the shelf has at a revision.
func (b *Bank) yields(e entry, revision uint64) bool {
	if b.modeOf(e.bank) == durable {
		return revision != 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.flights[e.name]
	return f.doubtful && revision > f.known
}

// yield lets a flight end with the value of the shelf.
func (b *Bank) yield(name string, v cluster.Value) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.flights[name]; f.later == nil || f.later.Revision < v.Revision {
		f.later = &v
	}
}

// complain logs once a name that this member does not share the value of a name.
func (b *Bank) complain(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.logged[name] {
		return
	}
	b.logged[name] = true
	b.o.Log.WithError(err).Errorf("cache entry %s stays on this member", name)
}

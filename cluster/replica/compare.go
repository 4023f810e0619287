package replica

import (
	"context"
	"errors"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/clock"
)

// revise offers what only the copy has, and compares the copy with the shelf if too many names
// waited, until ctx ends.
func (b *Bank) revise(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.review:
		}
		b.mu.Lock()
		offer, epoch := b.offer, b.epoch
		compare := b.current && b.overflow && len(b.waiting) == 0
		b.mu.Unlock()
		var err error
		if offer != nil {
			if err = b.offerUnseen(ctx, offer); err == nil {
				b.offered(epoch)
			}
		}
		if compare {
			err = errors.Join(err, b.compare(ctx))
		}
		if err != nil && clock.Sleep(ctx, pause) == nil {
			b.o.Log.WithError(err).Error("the cache is not compared with that of the other members")
			raise(b.review)
		}
	}
}

// offered records that all is offered that a stream lacked.
func (b *Bank) offered(epoch int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == epoch {
		b.offer, b.whole = nil, true
	}
}

// offerUnseen lets all names of the copy wait that the shelf does not have.
func (b *Bank) offerUnseen(ctx context.Context, seen map[string]bool) error {
	for _, tops := range [][]string{b.o.Lazy, b.o.Durable} {
		for _, top := range tops {
			err := b.walk(top, func(e entry) error {
				if seen[e.name] || b.modeOf(e.bank) == private {
					return nil
				}
				return b.await(ctx, e, func() bool { return true })
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// compare lets all names wait whose values differ in the copy and on the shelf. What the copy has
// not applied yet is left to follow.
func (b *Bank) compare(ctx context.Context) error {
	b.mu.Lock()
	b.overflow, b.comparing = false, true
	b.mu.Unlock()
	err := b.scan(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.comparing = false
	if err != nil {
		b.overflow = true
	}
	b.tidy()
	return err
}

func (b *Bank) scan(ctx context.Context) error {
	reading, done := context.WithCancel(ctx)
	defer done()
	seen := map[string]bool{}
	err := b.shared.Follow(reading, 0, done, func(v cluster.Value) error {
		if v.Key == streamKey {
			return nil
		}
		e, ok := b.entry(v.Key)
		if !ok {
			return nil
		}
		seen[v.Key] = true
		return b.await(ctx, e, func() bool { return b.differs(e, v) })
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return b.offerUnseen(ctx, seen)
}

// differs reports whether the copy has another value than one that is older than the position. The
// caller holds the stripe.
func (b *Bank) differs(e entry, v cluster.Value) bool {
	b.mu.Lock()
	_, dirty := b.waiting[e.name]
	leave := dirty || b.flights[e.name] != nil || b.failed[e.name] || v.Revision > b.known(e.name)
	b.mu.Unlock()
	if leave {
		return false
	}
	mine, err := b.read(e.bank, e.key)
	return err == nil && !same(mine, v.Body)
}

// await lets a name wait, if need says so, when there is room.
func (b *Bank) await(ctx context.Context, e entry, need func() bool) error {
	for {
		b.mu.Lock()
		full := len(b.waiting) >= b.o.MaxWaiting
		b.mu.Unlock()
		if !full {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.room:
		}
	}
	stripe := b.stripe(e.bank)
	stripe.Lock()
	defer stripe.Unlock()
	if !need() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.waiting[e.name]; ok {
		return nil
	}
	b.doubtful[e.name] = true
	b.add(e.name)
	if b.isLazy(e.name) {
		return b.journal.addAll()
	}
	return nil
}

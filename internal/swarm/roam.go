package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
)

// roam keeps the minion connected to one of several masters until ctx ends, as master_type failover
// does.
func (l *link) roam(ctx context.Context, joining *semaphore.Weighted) error {
	masters := l.m.swarm.opts.Masters
	at, last := slices.Index(masters, l.address()), ""
	for {
		var err error
		if at, err = l.settle(ctx, joining, at); err != nil {
			return err
		}
		if last != "" && last != masters[at] {
			l.m.swarm.Stats.Moves.Add(1)
		}
		last = masters[at]
		if err := l.stay(ctx); err != nil {
			return err
		}
		at = (at + 1) % len(masters)
	}
}

// settle signs in to the first master from index at on that accepts the minion, however long that
// takes, and returns its index. The error is that of ctx, or the refusals of all masters.
func (l *link) settle(ctx context.Context, joining *semaphore.Weighted, at int) (int, error) {
	masters := l.m.swarm.opts.Masters
	for {
		var refused []error
		for i := range masters {
			index := (at + i) % len(masters)
			err := l.try(ctx, joining, masters[index])
			switch {
			case err == nil:
				return index, nil
			case ctx.Err() != nil:
				return 0, ctx.Err()
			case errors.Is(err, channel.ErrRejected):
				refused = append(refused, fmt.Errorf("%s: master %s: %w", l.m.id, masters[index], err))
			}
			l.m.swarm.opts.Log.WithError(err).Warn(l.m.id)
		}
		if len(refused) == len(masters) {
			return 0, errors.Join(refused...)
		}
		if err := clock.Sleep(ctx, time.Second+rand.N(time.Second)); err != nil {
			return 0, err
		}
	}
}

// try signs in to a master once. It gives up when no connection can be made, or when patience ends.
func (l *link) try(ctx context.Context, joining *semaphore.Weighted, master string) error {
	trying, giveUp := context.WithCancel(ctx)
	defer giveUp()
	l.connect(master, func(up bool, _ error) {
		if !up {
			giveUp()
			l.ask()
		}
	})
	return l.signInOnce(ctx, trying, joining)
}

// stay takes publications until the master is lost. The error is that of ctx.
func (l *link) stay(ctx context.Context) error {
	serving, leave := context.WithCancel(ctx)
	defer leave()
	group, serving := errgroup.WithContext(serving)
	up := make(chan struct{})
	first := sync.OnceFunc(func() { close(up) })
	d := l.publications(func(is bool) {
		if is {
			first()
			return
		}
		leave()
	})
	d.Hello = l.client.Hello
	group.Go(func() error { return l.subscribe(serving, ctx, d) })
	group.Go(func() error {
		l.start(serving, up)
		return nil
	})
	group.Go(func() error {
		defer leave()
		l.watch(serving)
		return nil
	})
	if err := group.Wait(); err != nil && serving.Err() == nil {
		return err
	}
	return ctx.Err()
}

// watch asks the master again and again whether it answers, until it does not or ctx ends.
func (l *link) watch(ctx context.Context) {
	tick := time.NewTicker(l.m.swarm.opts.Alive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.doubt:
		case <-ctx.Done():
			return
		}
		if !l.answers(ctx) {
			return
		}
	}
}

// answers reports whether the master answers a request in time.
func (l *link) answers(ctx context.Context) bool {
	_, err := l.client.Do(ctx, data.NewMap("cmd", "_master_opts", "env_only", true))
	return err == nil || errors.Is(err, channel.ErrBadReply)
}

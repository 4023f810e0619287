//go:build linux

package testcluster

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/test/testcluster/history"
)

// Load orders jobs until ctx ends, at intervals of a pause, each on the next master, and records them.
// It returns nil when all orders have ended, which takes as long as they do. request returns the i-th
// order. An order on a master that does not run or stands still is recorded as lost.
func (c *Cluster) Load(
	ctx context.Context, r *history.Recorder, pause time.Duration, request func(i int) Request,
) error {
	var orders errgroup.Group
	for i := 0; ; i++ {
		m, order := c.Masters[i%len(c.Masters)], request(i)
		orders.Go(func() error {
			whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
			defer cancel()
			a, err := m.Order(whole, order)
			if err != nil {
				a.Lost = err.Error()
			}
			r.Order(a.Order)
			return nil
		})
		if clock.Sleep(ctx, pause) != nil {
			return orders.Wait()
		}
	}
}

// WatchKeys records how the masters see the keys of minions until ctx ends, at intervals of a pause.
func (c *Cluster) WatchKeys(
	ctx context.Context, r *history.Recorder, pause time.Duration, minions []string,
) error {
	var watchers errgroup.Group
	for _, m := range c.Masters {
		watchers.Go(func() error {
			for {
				asked := time.Now()
				brief, cancel := context.WithTimeout(ctx, effect)
				states, err := m.Keys(brief)
				cancel()
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					states = nil
				}
				r.Saw(m.Name, asked, minions, states)
				if clock.Sleep(ctx, pause) != nil {
					return nil
				}
			}
		})
	}
	return watchers.Wait()
}

// Collect records the job caches of all masters, for the jobs that the recorder knows.
func (c *Cluster) Collect(ctx context.Context, r *history.Recorder) error {
	for _, m := range c.Masters {
		returns, err := m.Returned(ctx, r.JIDs()...)
		if err != nil {
			return fmt.Errorf("collect the returns: %w", err)
		}
		r.Cached(m.Name, returns)
	}
	return nil
}

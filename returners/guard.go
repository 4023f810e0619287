package returners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/job"
)

// ErrBusy is wrapped when a guarded cache takes no more for now: what stands behind it answers too slowly.
var ErrBusy = errors.New("it does not answer in time")

// GuardOptions tune a guarded cache. Zero values mean the default.
type GuardOptions struct {
	Parallel int           // calls under way at once: 16
	Patience time.Duration // how long a call may wait for its turn, and how old the oldest may be before others are refused: 1 s
	Limit    time.Duration // of one reading call: 10 s. Changes have the limit of the cache
}

// Guard returns a cache in front of c, which speaks to a server, that keeps a server that hangs from taking all that a
// master has: only so many calls are under way, and while the oldest of them gets no answer, others fail at once with an
// error that wraps ErrBusy and names the cache. Minions keep a return that was not taken and send it again.
func Guard(name string, c JobCache, o GuardOptions) JobCache {
	if o.Parallel <= 0 {
		o.Parallel = 16
	}
	if o.Patience <= 0 {
		o.Patience = time.Second
	}
	if o.Limit <= 0 {
		o.Limit = 10 * time.Second
	}
	return &guarded{c: c, name: name, o: o, room: make(chan struct{}, o.Parallel), under: map[uint64]time.Time{}}
}

type guarded struct {
	c    JobCache
	name string
	o    GuardOptions
	room chan struct{} // has an element for each call under way

	mu    sync.Mutex
	last  uint64
	under map[uint64]time.Time // when the calls under way began
}

// enter waits for the turn of a call; leave must be called after it.
func (g *guarded) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.hangs() {
		return nil, fmt.Errorf("job cache %s: %w", g.name, ErrBusy)
	}
	turn := time.NewTimer(g.o.Patience)
	defer turn.Stop()
	select {
	case g.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-turn.C:
		return nil, fmt.Errorf("job cache %s: %w", g.name, ErrBusy)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	n := g.last
	g.under[n] = time.Now()
	return func() {
		g.mu.Lock()
		delete(g.under, n)
		g.mu.Unlock()
		<-g.room
	}, nil
}

// hangs reports whether a call gets no answer. It is no more when that call has ended, at its limit at the latest.
func (g *guarded) hangs() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, began := range g.under {
		if time.Since(began) > g.o.Patience {
			return true
		}
	}
	return false
}

// reading enters, with a limit to the time.
func (g *guarded) reading(ctx context.Context) (context.Context, func(), error) {
	leave, err := g.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	own, cancel := context.WithTimeout(ctx, g.o.Limit)
	return own, func() { cancel(); leave() }, nil
}

func (g *guarded) Job(ctx context.Context, id job.ID) (*Job, error) {
	ctx, leave, err := g.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return g.c.Job(ctx, id)
}

func (g *guarded) Returns(ctx context.Context, id job.ID) ([]Return, error) {
	ctx, leave, err := g.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return g.c.Returns(ctx, id)
}

// Jobs has no limit but that of ctx: a long list takes its time, and is no sign of a server that hangs.
func (g *guarded) Jobs(ctx context.Context, f Filter) ([]Job, error) { return g.c.Jobs(ctx, f) }

func (g *guarded) SaveJob(ctx context.Context, j *Job) error {
	leave, err := g.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return g.c.SaveJob(ctx, j)
}

func (g *guarded) SaveReturn(ctx context.Context, id job.ID, r *Return) (bool, error) {
	leave, err := g.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	return g.c.SaveReturn(ctx, id, r)
}

func (g *guarded) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	leave, err := g.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return g.c.AddMinions(ctx, id, ids)
}

// Clean is not counted: it is one call at a time, and may take long.
func (g *guarded) Clean(ctx context.Context, before time.Time) (int, error) {
	return g.c.Clean(ctx, before)
}

func (g *guarded) Close() error { return g.c.Close() }

package returners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/job"
)

// ErrBusy is wrapped if a guarded cache rejects a call because its server responds too slowly.
var ErrBusy = errors.New("the server does not respond in time")

// GuardOptions configure a guarded cache. Zero values mean the default.
type GuardOptions struct {
	Parallel int // concurrent calls: 16
	// how long a call may wait for its turn, and the age of the oldest call from which others are
	// rejected: 1 s
	Patience time.Duration
	Limit    time.Duration // timeout of a reading call: 10 s. Changes have the timeout of the cache
}

// Guard returns a cache in front of c, which uses a server. It keeps a hanging server from using up
// the master's resources: the number of concurrent calls is limited, and if the oldest of them gets
// no response, others fail at once with an error that wraps ErrBusy and names the cache. Minions
// keep a return that was rejected and send it again.
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
	return &guarded{c: c, name: name, o: o, slots: make(chan struct{}, o.Parallel),
		running: map[uint64]time.Time{}}
}

type guarded struct {
	c     JobCache
	name  string
	o     GuardOptions
	slots chan struct{} // has an element for each running call

	mu      sync.Mutex
	last    uint64
	running map[uint64]time.Time // start times of the running calls
}

// enter waits for the turn of a call. The caller must call leave after it.
func (g *guarded) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.stalled() {
		return nil, fmt.Errorf("job cache %s: %w", g.name, ErrBusy)
	}
	turn := time.NewTimer(g.o.Patience)
	defer turn.Stop()
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-turn.C:
		return nil, fmt.Errorf("job cache %s: %w", g.name, ErrBusy)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	n := g.last
	g.running[n] = time.Now()
	return func() {
		g.mu.Lock()
		delete(g.running, n)
		g.mu.Unlock()
		<-g.slots
	}, nil
}

// stalled reports whether the oldest call is too old. It stops being so when that call ends, at the
// latest at its timeout.
func (g *guarded) stalled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, began := range g.running {
		if time.Since(began) > g.o.Patience {
			return true
		}
	}
	return false
}

// reading is enter for a call with the timeout of reading calls.
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

// Jobs has only the timeout of ctx: reading a long list takes time and does not mean that the
// server hangs.
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

// Clean is not counted: there is one call at a time, and it may take long.
func (g *guarded) Clean(ctx context.Context, before time.Time) (int, error) {
	return g.c.Clean(ctx, before)
}

func (g *guarded) Close() error { return g.c.Close() }

package master

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/daemon"
)

// leaseName is the lease under which one member of a cluster does what is done once: batches,
// reactions, the schedule, the queue and event_return.
const leaseName = "leader"

// A leadership knows whether this member leads, and lets parts work while it does.
type leadership struct {
	mu      sync.Mutex
	led     context.Context // of the present lead; nil while this member does not lead
	since   time.Time       // when it began
	changed chan struct{}   // closed when led changes
	work    sync.WaitGroup  // parts that work under the lead
}

func newLeadership() *leadership { return &leadership{changed: make(chan struct{})} }

// errNotLeading is wrapped for work whose lead has ended.
var errNotLeading = errors.New("another master of the cluster leads")

type tokenKey struct{}

// tokenOf returns the fencing token of the lead that a context belongs to, or 0.
func tokenOf(ctx context.Context) uint64 {
	n, _ := ctx.Value(tokenKey{}).(uint64)
	return n
}

// lead lets the parts work until ctx ends, and returns when all have stopped. It calls begun once they
// may work.
func (l *leadership) lead(ctx context.Context, token cluster.Token, begun func()) {
	l.change(func() { l.led, l.since = context.WithValue(ctx, tokenKey{}, token.Number), time.Now() })
	begun()
	<-ctx.Done()
	l.change(func() { l.led = nil })
	l.work.Wait()
}

// change makes a change and tells those that wait for one.
func (l *leadership) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

// leads reports whether this member leads. A master without a cluster always does.
func (l *leadership) leads() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.led != nil && l.led.Err() == nil
}

// fresh reports whether the latest lead of this member began less than a time ago. It may have ended since.
func (l *leadership) fresh(limit time.Duration) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.since) < limit
}

// await waits until this member leads. It returns a context that ends with the lead, and a function
// to call once the work under it has ended.
func (l *leadership) await(ctx context.Context) (context.Context, func(), error) {
	for {
		l.mu.Lock()
		changed := l.changed
		l.mu.Unlock()
		if working, done, ok := l.now(ctx); ok {
			return working, done, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// once makes a part work only while this member leads. A master without a cluster runs it as it is.
func (l *leadership) once(p daemon.Part) daemon.Part {
	if l == nil {
		return p
	}
	run := p.Run
	p.Run = func(ctx context.Context, ready func()) error {
		ready()
		for {
			led, done, err := l.await(ctx)
			if err != nil {
				return err
			}
			err = run(led, func() {})
			over := led.Err() != nil
			done()
			if !over || ctx.Err() != nil {
				return err
			}
		}
	}
	return p
}

// onceEach makes a periodic task do nothing while this member does not lead.
func (l *leadership) onceEach(do func(context.Context) error) func(context.Context) error {
	if l == nil {
		return do
	}
	return func(ctx context.Context) error {
		working, done, ok := l.now(ctx)
		if !ok {
			return nil
		}
		defer done()
		return do(working)
	}
}

// either makes a periodic task do one thing while this member leads, and another while it does not. A
// master without a cluster always leads.
func (l *leadership) either(leading, following func(context.Context) error) func(context.Context) error {
	if l == nil {
		return leading
	}
	return func(ctx context.Context) error {
		working, done, ok := l.now(ctx)
		if !ok {
			return following(ctx)
		}
		defer done()
		return leading(working)
	}
}

// now returns a context that ends with the lead or with ctx, and a function to call once the work
// under it has ended. ok is false if this member does not lead.
func (l *leadership) now(ctx context.Context) (working context.Context, done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.led == nil || l.led.Err() != nil {
		return nil, nil, false
	}
	l.work.Add(1)
	working, cancel := context.WithCancel(l.led)
	stop := context.AfterFunc(ctx, cancel)
	return working, func() { stop(); cancel(); l.work.Done() }, true
}

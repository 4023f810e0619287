package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Limits on file operations.
const (
	defaultLimit = 20 * time.Second
	// just under the minute that Salt's minions wait for a hash
	hashLimit    = 55 * time.Second
	stalledLimit = time.Second // while a call hangs
	maxStuck     = 256         // hanging calls
)

var errStuck = errors.New("the file system does not answer")

// stallGuard runs calls that may hang, such as calls to a network file system whose server is gone.
// A hanging call cannot be cancelled: it is abandoned, and the requester gets an error. While calls
// hang, others get little time. All together never use more than half of the workers that answer
// requests.
type stallGuard struct {
	slots chan struct{}
	stuck atomic.Int32 // abandoned calls that still run
}

func newStallGuard() *stallGuard {
	return &stallGuard{slots: make(chan struct{}, 8*runtime.GOMAXPROCS(0))}
}

type outcome struct {
	reply any
	err   error
}

// do runs f and returns its results, or an error if that takes longer than limit.
func (p *stallGuard) do(
	ctx context.Context, limit time.Duration, f func(context.Context) (any, error),
) (any, error) {
	stuck := p.stuck.Load()
	if stuck >= maxStuck {
		return nil, fmt.Errorf("%w: %d requests wait for it", errStuck, stuck)
	}
	if stuck > 0 {
		limit = min(limit, stalledLimit)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %s", errStuck, limit))
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done := make(chan outcome, 1)
	go func() { done <- recovered(ctx, f) }()
	select {
	case out := <-done:
		return out.reply, out.err
	case <-ctx.Done():
	}
	p.stuck.Add(1)
	go func() {
		<-done
		p.stuck.Add(-1)
	}()
	return nil, context.Cause(ctx)
}

// recovered calls f, and turns a panic into an error.
func recovered(ctx context.Context, f func(context.Context) (any, error)) (out outcome) {
	defer func() {
		if r := recover(); r != nil {
			out = outcome{err: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	out.reply, out.err = f(ctx)
	return out
}

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

// How long minions wait for what is done with files.
const (
	ordinaryLimit  = 20 * time.Second
	hashLimit      = 55 * time.Second // a large file takes its time; minions of Salt wait a minute
	impatientLimit = time.Second      // while something hangs
	mostStuck      = 256
)

var errStuck = errors.New("the file system does not answer")

// patience does what may hang, as calls on a network file system do whose server has gone. Such a call cannot be broken
// off: it is left behind, and who asked gets an error. As long as there are such calls others are given little time, and
// they never take more than half of the workers that answer requests.
type patience struct {
	slots chan struct{}
	stuck atomic.Int32
}

func newPatience() *patience {
	return &patience{slots: make(chan struct{}, 8*runtime.GOMAXPROCS(0))}
}

type outcome struct {
	reply any
	err   error
}

// do returns what f returns, or an error when that takes too long.
func (p *patience) do(ctx context.Context, limit time.Duration, f func(context.Context) (any, error)) (any, error) {
	stuck := p.stuck.Load()
	if stuck >= mostStuck {
		return nil, fmt.Errorf("%w: %d requests wait for it", errStuck, stuck)
	}
	if stuck > 0 {
		limit = min(limit, impatientLimit)
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
	go func() { done <- guarded(ctx, f) }()
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

// guarded turns a panic into an error, which it is for the handler of a request.
func guarded(ctx context.Context, f func(context.Context) (any, error)) (out outcome) {
	defer func() {
		if r := recover(); r != nil {
			out = outcome{err: fmt.Errorf("panic: %v\n%s", r, debug.Stack())}
		}
	}()
	out.reply, out.err = f(ctx)
	return out
}

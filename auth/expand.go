package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/transport"
)

const (
	expandedFor  = time.Minute      // how long an expansion is valid
	expandAgain  = 10 * time.Second // how long a failure is cached
	expandsKept  = 1024
	expandAtOnce = 4
)

// expansions cache how systems expand their own targets in lists of rights. Requests with tokens
// can be frequent, so a system is asked once a minute per list.
type expansions struct {
	turns   chan struct{}
	waiting chan struct{}

	mu   sync.Mutex
	kept map[string]*expansion
}

// An expansion is computed by the first caller; others wait for it.
type expansion struct {
	done  chan struct{}
	until time.Time // valid once done is closed, like all fields below
	list  []any
	err   error
}

func newExpansions() *expansions {
	return &expansions{turns: make(chan struct{}, expandAtOnce),
		waiting: make(chan struct{}, loginsWaiting), kept: map[string]*expansion{}}
}

// of returns the expansion of a list by the named system. The crew replaces the worker while it
// waits.
func (x *expansions) of(
	ctx context.Context, now func() time.Time, name string, e Expander, list []any,
) ([]any, error) {
	key := name + "\n" + data.Repr(list)
	one, mine := x.entry(key, now())
	if mine {
		transport.Aside(ctx, func() { x.ask(ctx, now, one, e, list) })
	}
	select {
	case <-one.done:
		return one.list, one.err
	default:
	}
	select {
	case x.waiting <- struct{}{}:
		defer func() { <-x.waiting }()
	default:
		return nil, errors.New("too many wait for the system")
	}
	ctx, cancel := context.WithTimeout(ctx, loginLimit)
	defer cancel()
	var err error
	transport.Aside(ctx, func() {
		select {
		case <-one.done:
		case <-ctx.Done():
			err = fmt.Errorf("wait for the system: %w", ctx.Err())
		}
	})
	if err != nil {
		return nil, err
	}
	return one.list, one.err
}

// entry returns the cached expansion for key, or a new one that the caller must compute (mine is
// true).
func (x *expansions) entry(key string, now time.Time) (one *expansion, mine bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if one = x.kept[key]; one != nil && !one.over(now) {
		return one, false
	}
	if len(x.kept) >= expandsKept {
		clear(x.kept)
	}
	one = &expansion{done: make(chan struct{})}
	x.kept[key] = one
	return one, true
}

// over reports whether an expansion has expired.
func (o *expansion) over(now time.Time) bool {
	select {
	case <-o.done:
		return !now.Before(o.until)
	default:
		return false
	}
}

func (x *expansions) ask(
	ctx context.Context, now func() time.Time, one *expansion, e Expander, list []any,
) {
	defer close(one.done)
	// other callers wait for the result too
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginLimit)
	defer cancel()
	one.err = context.DeadlineExceeded
	select {
	case x.turns <- struct{}{}:
		defer func() { <-x.turns }()
		one.list, one.err = e.Expand(ctx, list)
	case <-ctx.Done():
	}
	one.until = now().Add(expandedFor)
	if one.err != nil {
		one.until = now().Add(expandAgain)
	}
}

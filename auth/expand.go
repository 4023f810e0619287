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
	expandedFor  = time.Minute      // how long an expansion holds
	expandAgain  = 10 * time.Second // after which one that failed is tried again
	expandsKept  = 1024
	expandAtOnce = 4
)

// expansions keep what systems put for targets of their own in lists of rights: requests with tokens, of which there may be
// many, ask a system once a minute for each list.
type expansions struct {
	turns   chan struct{}
	waiting chan struct{}

	mu   sync.Mutex
	kept map[string]*expansion
}

// An expansion is asked for by whoever comes first; others wait for it.
type expansion struct {
	done  chan struct{}
	until time.Time // valid after done, as all below
	list  []any
	err   error
}

func newExpansions() *expansions {
	return &expansions{turns: make(chan struct{}, expandAtOnce), waiting: make(chan struct{}, loginsWaiting), kept: map[string]*expansion{}}
}

// of returns the expansion of a list at the system that has a name. Its worker does other things meanwhile.
func (x *expansions) of(ctx context.Context, now func() time.Time, name string, e Expander, list []any) ([]any, error) {
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

// entry returns the expansion that is kept under key, or a new one that the caller has to ask for.
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

// over reports whether an expansion has to be asked for again.
func (o *expansion) over(now time.Time) bool {
	select {
	case <-o.done:
		return !now.Before(o.until)
	default:
		return false
	}
}

func (x *expansions) ask(ctx context.Context, now func() time.Time, one *expansion, e Expander, list []any) {
	defer close(one.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginLimit) // others wait for it too
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

package syndic

import (
	"context"
	"sync"
	"time"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/returners"
)

const (
	maxTrimmed   = 1000                   // returns that wait for the job cache
	trimmedPause = 500 * time.Millisecond // before the first look there, doubled with each further one
	trimmedTries = 3                      // looks
)

// trimmed holds returns that the event bus has trimmed and that the job cache does not have yet. A Salt
// master fires the event of a return before it stores the return.
type trimmed struct {
	more chan struct{} // signaled when one was added

	mu   sync.Mutex
	list []*answer
}

// add adds a return, and reports false if there is no room.
func (t *trimmed) add(a *answer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTrimmed {
		return false
	}
	t.list = append(t.list, a)
	signal(t.more)
	return true
}

func (t *trimmed) take() []*answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.list
	t.list = nil
	return all
}

// runTrimmed reads trimmed returns from the job cache until ctx ends. It forwards a return trimmed if the job
// cache does not have it after trimmedTries looks.
func (r *replay) runTrimmed(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.trimmed.more:
		}
		left := r.trimmed.take()
		pause := trimmedPause
		for range trimmedTries {
			if err := clock.Sleep(ctx, pause); err != nil {
				return err
			}
			pause *= 2
			left = r.putWhole(ctx, left)
		}
		for _, a := range left {
			r.s.log.Warnf("The return of minion %s to job %s goes up trimmed: the job cache does not have it",
				a.minion, a.jid)
			r.hand(a)
		}
		r.kickIfMarked() // for returns that had no room in the list
	}
}

// putWhole reads returns from the job cache and hands them to the router. It returns those that the job cache
// does not have.
func (r *replay) putWhole(ctx context.Context, all []*answer) (left []*answer) {
	for _, a := range all {
		if found, ok := r.whole(ctx, a); ok {
			r.hand(found)
		} else {
			left = append(left, a)
		}
	}
	return left
}

// hand hands a return to the router, or marks its job if there is no room.
func (r *replay) hand(a *answer) {
	if r.s.router.put(a) == refused {
		r.mark(a.jid)
	}
}

// whole returns the return in a from the job cache, and reports whether it is there.
func (r *replay) whole(ctx context.Context, a *answer) (found *answer, ok bool) {
	cache := r.s.jobs()
	if cache == nil {
		return nil, false
	}
	known, err := cache.Job(ctx, a.jid)
	if err != nil {
		return nil, false
	}
	err = walk(ctx, cache, a.jid, []string{a.minion}, func(one returners.Return) error {
		cached, err := cachedAnswer(a.jid, known, one)
		if err == nil {
			found = cached
		}
		return err
	})
	if err != nil {
		r.s.quiet.Warnf(r.s.log, "whole", "read return of minion %s to job %s, trimmed in its event: %v",
			a.minion, a.jid, err)
	}
	return found, found != nil
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// batchState is the command by which a master tells whether a batch still runs.
const batchState = "batch_state"

// askPause is the wait before a master that did not answer is asked again.
const askPause = 2 * time.Second

// errNoState is returned if the master's reply does not tell the state of a batch.
var errNoState = errors.New("its reply is not understood")

// A refusedState is a reply of the master that does not tell the state of a batch.
type refusedState struct{ err error }

func (r *refusedState) Error() string { return r.err.Error() }
func (r *refusedState) Unwrap() error { return r.err }

// askState asks the master whether a batch still runs, and reads its recorded returns. The result is nil
// while the batch runs, and while the master does not answer, as during its restart; follow then asks again.
func (l *Local) askState(ctx context.Context, f *following) (*BatchEnd, error) {
	running, end, err := l.batchState(ctx, f.job)
	var refused *refusedState
	switch {
	case errors.As(err, &refused):
		return nil, fmt.Errorf("ask the master whether batch %s, of which events were missed, still runs: %w",
			f.job, err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		f.gap, f.again = true, time.Now().Add(askPause)
		return nil, nil
	}
	f.gap = false
	l.lookUp(ctx, f, f.minions)
	switch {
	case running:
		return nil, nil
	case end != nil:
		return f.end(end), nil
	}
	return f.endOf(f.minions), nil
}

// endOf returns the end of a batch of which nothing is known but the returns of its minions.
func (f *following) endOf(minions []string) *BatchEnd {
	lacking := f.lacks(minions)
	end := &BatchEnd{Done: slices.DeleteFunc(slices.Clone(minions), func(id string) bool { return !f.seen[id] })}
	if len(lacking) > 0 {
		end.Error = fmt.Sprintf("the batch has ended, and the master no longer knows how; "+
			"%d minions have not returned, or not started", len(lacking))
	}
	return end
}

// batchState asks the master for the state of a batch. end is the body of its event done, and nil while it
// runs or if the master does not know it. The error is a *refusedState, or says that there was no reply.
func (l *Local) batchState(ctx context.Context, id job.ID) (running bool, end *data.Map, err error) {
	key, user, err := l.credentials()
	if err != nil {
		return false, nil, err
	}
	r := Request{Kind: "list", Target: []any{}, JID: string(id), command: batchState}
	reply, err := l.send(ctx, r, key, user)
	m, _ := reply.(*data.Map)
	if err == nil && errors.Is(replyError(m), ErrNotAuthenticated) {
		fresh, _, keyErr := l.credentials() // a restarted master has written a new key
		if keyErr == nil && fresh != key {
			reply, err = l.send(ctx, r, fresh, user)
			m, _ = reply.(*data.Map)
		}
	}
	if err != nil {
		return false, nil, err
	}
	if err := replyError(m); err != nil {
		return false, nil, &refusedState{err}
	}
	running, ok := m.Value("running").(bool)
	if !ok {
		return false, nil, &refusedState{errNoState}
	}
	end, _ = m.Value("end").(*data.Map)
	return running, end, nil
}

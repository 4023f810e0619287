package jobstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

const (
	trackDelay = 500 * time.Millisecond // for which states are gathered
	trackRetry = 5 * time.Second        // after a failure
	trackBatch = 256                    // states a change
	mostTracks = 1 << 16                // that wait; more are dropped, and earlier states are told
)

// A place is what a state is of.
type place struct {
	id     job.ID
	minion string
}

// tracks gathers states until they are written.
type tracks struct {
	write func(states map[place]returners.Progress) error

	writing sync.Mutex // held while states are being written

	mu      sync.Mutex
	waiting map[place]returners.Progress
	under   map[place]returners.Progress // are being written
	timer   *time.Timer                  // nil when nothing waits
	closed  bool
}

func newTracks(write func(map[place]returners.Progress) error) *tracks {
	return &tracks{write: write, waiting: map[place]returners.Progress{}}
}

// Track notes states, as [returners.Tracker] says.
func (s *Store) Track(id job.ID, list ...returners.Progress) {
	s.tracks.note(id, list)
}

func (t *tracks) note(id job.ID, list []returners.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range list {
		at := place{id, p.Minion}
		old, known := t.waiting[at]
		if known && !p.State.Follows(old.State) || !known && len(t.waiting) >= mostTracks ||
			p.State.Rank() == 0 || p.State == returners.Returned {
			continue
		}
		t.waiting[at] = p
	}
	t.schedule(trackDelay)
}

// schedule has what waits written after a while. The caller holds mu.
func (t *tracks) schedule(after time.Duration) {
	if t.timer == nil && len(t.waiting) > 0 && !t.closed {
		t.timer = time.AfterFunc(after, t.flush)
	}
}

// forget drops what waits of a minion that has returned.
func (t *tracks) forget(id job.ID, minion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, place{id, minion})
}

// flush writes what waits. After a failure it is kept and written later.
func (t *tracks) flush() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	t.timer = nil
	t.under, t.waiting = t.waiting, map[place]returners.Progress{}
	t.mu.Unlock()
	err := t.write(t.under)
	t.mu.Lock()
	defer t.mu.Unlock()
	after := trackDelay
	if err != nil && !errors.Is(err, errClosed) {
		after = trackRetry
		for at, p := range t.under {
			if _, newer := t.waiting[at]; !newer && len(t.waiting) < mostTracks {
				t.waiting[at] = p
			}
		}
	}
	t.under = nil
	t.schedule(after)
}

// of returns what waits of a job.
func (t *tracks) of(id job.ID) (list []returners.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, states := range []map[place]returners.Progress{t.under, t.waiting} {
		for at, p := range states {
			if at.id == id {
				list = append(list, p)
			}
		}
	}
	return list
}

// close writes what waits; nothing is taken any more.
func (t *tracks) close() {
	t.mu.Lock()
	timer := t.timer
	t.closed = true
	t.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	t.flush()
}

// writeTracks writes states, some in each change, so that others do not wait long.
func (s *Store) writeTracks(states map[place]returners.Progress) error {
	var errs []error
	rows := make([]*stateRow, 0, trackBatch)
	write := func() {
		batch := rows
		rows = make([]*stateRow, 0, trackBatch)
		errs = append(errs, s.queue.do(context.Background(), &change{size: 64 * len(batch), do: func(f *file) error {
			for _, r := range batch {
				if err := f.track(r); err != nil {
					return err
				}
			}
			return nil
		}}))
	}
	for at, p := range states {
		if rows = append(rows, newStateRow(at.id, p)); len(rows) == trackBatch {
			write()
		}
	}
	if len(rows) > 0 {
		write()
	}
	return errors.Join(errs...)
}

// Progress returns how far a job has come, as [returners.ProgressReader] says, with what is still to be written.
func (s *Store) Progress(ctx context.Context, id job.ID) ([]returners.Progress, error) {
	waiting := s.tracks.of(id) // first: what is written meanwhile is read
	list, err := s.Reader.Progress(ctx, id)
	if err != nil {
		return nil, err
	}
	known := make(map[string]returners.State, len(list))
	for _, p := range list {
		known[p.Minion] = p.State
	}
	learned := waiting[:0]
	for _, p := range waiting {
		if old, ok := known[p.Minion]; !ok || p.State.Follows(old) || old == returners.Sent {
			learned = append(learned, p)
			known[p.Minion] = p.State
		}
	}
	return returners.Overlay(list, learned), nil
}

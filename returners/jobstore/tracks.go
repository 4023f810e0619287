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
	trackDelay = 500 * time.Millisecond // time for collecting states
	trackRetry = 5 * time.Second        // after a failure
	trackBatch = 256                    // states per change
	// limit of pending states; more are dropped, and readers get earlier states
	maxTracks = 1 << 16
)

// A jobMinion identifies the job and minion of a state.
type jobMinion struct {
	id     job.ID
	minion string
}

// tracks collects states until they are written.
type tracks struct {
	write func(states map[jobMinion]returners.Progress) error

	writing sync.Mutex // held while states are being written

	mu       sync.Mutex
	waiting  map[jobMinion]returners.Progress
	inFlight map[jobMinion]returners.Progress // being written
	timer    *time.Timer                      // nil if nothing is pending
	closed   bool
}

func newTracks(write func(map[jobMinion]returners.Progress) error) *tracks {
	return &tracks{write: write, waiting: map[jobMinion]returners.Progress{}}
}

// Track records states, see [returners.Tracker].
func (s *Store) Track(id job.ID, list ...returners.Progress) {
	s.tracks.note(id, list)
}

func (t *tracks) note(id job.ID, list []returners.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range list {
		at := jobMinion{id, p.Minion}
		old, known := t.waiting[at]
		if known && !p.State.Follows(old.State) || !known && len(t.waiting) >= maxTracks ||
			p.State.Rank() == 0 || p.State == returners.Returned {
			continue
		}
		t.waiting[at] = p
	}
	t.schedule(trackDelay)
}

// schedule writes the pending states after a delay. The caller holds mu.
func (t *tracks) schedule(after time.Duration) {
	if t.timer == nil && len(t.waiting) > 0 && !t.closed {
		t.timer = time.AfterFunc(after, t.flush)
	}
}

// discard drops the pending state of a minion that has returned.
func (t *tracks) discard(id job.ID, minion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, jobMinion{id, minion})
}

// flush writes the pending states. After a failure they are kept and written later.
func (t *tracks) flush() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	t.timer = nil
	t.inFlight, t.waiting = t.waiting, map[jobMinion]returners.Progress{}
	t.mu.Unlock()
	err := t.write(t.inFlight)
	t.mu.Lock()
	defer t.mu.Unlock()
	after := trackDelay
	if err != nil && !errors.Is(err, errClosed) {
		after = trackRetry
		for at, p := range t.inFlight {
			if _, newer := t.waiting[at]; !newer && len(t.waiting) < maxTracks {
				t.waiting[at] = p
			}
		}
	}
	t.inFlight = nil
	t.schedule(after)
}

// of returns the pending states of a job.
func (t *tracks) of(id job.ID) (list []returners.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, states := range []map[jobMinion]returners.Progress{t.inFlight, t.waiting} {
		for at, p := range states {
			if at.id == id {
				list = append(list, p)
			}
		}
	}
	return list
}

// close writes the pending states; later ones are dropped.
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

// writeTracks writes states, a limited number per change, so that others do not wait long.
func (s *Store) writeTracks(states map[jobMinion]returners.Progress) error {
	var errs []error
	rows := make([]*stateRow, 0, trackBatch)
	write := func() {
		batch := rows
		rows = make([]*stateRow, 0, trackBatch)
		errs = append(errs, s.queue.do(context.Background(),
			&change{size: 64 * len(batch), do: func(f *file) error {
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

// Progress returns the progress of a job, see [returners.ProgressReader], including states still to
// be written.
func (s *Store) Progress(ctx context.Context, id job.ID) ([]returners.Progress, error) {
	waiting := s.tracks.of(id) // first: states written meanwhile are then read from the file
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

// State returns what Progress has for one minion, see [returners.Tracker].
func (s *Store) State(ctx context.Context, id job.ID, minion string) (returners.State, error) {
	waiting := s.tracks.ofMinion(jobMinion{id, minion}) // first, as in Progress
	state, err := s.Reader.State(ctx, id, minion)
	if err != nil {
		return "", err
	}
	for _, next := range waiting {
		if state == "" || next.Follows(state) || state == returners.Sent {
			state = next
		}
	}
	return state, nil
}

// ofMinion returns the pending states of a minion in a job, the older one first.
func (t *tracks) ofMinion(at jobMinion) (states []returners.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pending := range []map[jobMinion]returners.Progress{t.inFlight, t.waiting} {
		if p, ok := pending[at]; ok {
			states = append(states, p.State)
		}
	}
	return states
}

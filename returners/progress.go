package returners

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/job"
)

// A State is the progress of a job on one minion.
type State string

// The states of a job on a minion, in the order in which they may follow one another. A later state
// replaces an earlier one and not the other way round, with exceptions: a minion that was gone or
// queued may come back and be running; only a minion that is not known to have the job can have
// missed it; and a return always sets Returned.
const (
	Absent       State = "not connected" // was not connected when the job was sent
	Queued       State = "queued"        // was offline; the job is kept for it
	Sent         State = "sent"          // the publication was sent; nothing is known yet
	Acknowledged State = "acknowledged"  // the minion has confirmed the job
	Running      State = "running"       // the minion has reported that it runs the job
	// the minion has reported that it does not run the job, and has not returned; or its queued job
	// expired
	Gone State = "gone"
	// its return was rejected, or it reported that it will not run the job
	Refused  State = "refused"
	Returned State = "returned" // the return is stored
	// as far as known, the minion has not received the job and will not be sent it again
	Missed State = "missed"
)

// order holds the states in the order in which they may follow one another.
var order = [...]State{Absent, Queued, Sent, Acknowledged, Running, Gone, Refused, Returned, Missed}

// Rank returns the position of a state in the order, from 1; 0 for an unknown state. Caches store
// it, so it never changes.
func (s State) Rank() int {
	for i, o := range order {
		if s == o {
			return i + 1
		}
	}
	return 0
}

// StateOf returns the state of a rank, "" if there is none.
func StateOf(rank int) State {
	if rank < 1 || rank > len(order) {
		return ""
	}
	return order[rank-1]
}

// Follows reports whether a state may replace an older one.
func (s State) Follows(old State) bool {
	switch {
	case s == Missed:
		return old.Rank() <= Sent.Rank()
	case old == Missed:
		return s.Rank() > Sent.Rank()
	}
	return s.Rank() > old.Rank() || old == Gone && (s == Acknowledged || s == Running)
}

// Progress is the progress of a job on one minion.
type Progress struct {
	Minion string
	State  State
	Since  time.Time // when the state became known; for Returned when the return arrived
	Why    string    // for Refused, Gone and Missed: the reason as far as known; else empty
}

// A ProgressReader reads the progress of jobs. Several goroutines may use it.
type ProgressReader interface {
	// Progress returns one entry for each expected minion, in the order of Job.Minions, followed by
	// entries for other minions that took part. The error wraps ErrUnknownJob if there is no such
	// job.
	Progress(ctx context.Context, id job.ID) ([]Progress, error)
}

// A Tracker stores the progress of jobs. A JobCache may implement it; a cache that does not only
// knows which minions returned. Returned follows from SaveReturn, and Sent and Absent from SaveJob.
type Tracker interface {
	ProgressReader
	// Track records states without waiting for the disk. If the program is killed, states of the
	// last second may be lost; readers then get an earlier state, never a wrong one. States of
	// unknown jobs or minions are dropped, and so are states that may not follow the known one.
	Track(id job.ID, list ...Progress)
	// State returns what Progress has for one minion, "" if it takes no part. It does not read the returns
	// and states of others. Its errors are those of Progress.
	State(ctx context.Context, id job.ID, minion string) (State, error)
}

// ProgressOf returns the progress of a job from any cache: one that is no ProgressReader only knows
// which minions returned.
func ProgressOf(ctx context.Context, r JobReader, id job.ID) ([]Progress, error) {
	if p, ok := r.(ProgressReader); ok {
		return p.Progress(ctx, id)
	}
	j, err := r.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	returns, err := r.Returns(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("progress of job %s: %w", id, err)
	}
	return Derive(j, returns), nil
}

// Derive returns the progress that follows from a job and its returns.
func Derive(j *Job, returns []Return) []Progress {
	list := make([]Progress, 0, len(j.Minions))
	at := make(map[string]int, len(j.Minions))
	place := func(minion string) *Progress {
		i, ok := at[minion]
		if !ok {
			i = len(list)
			at[minion] = i
			list = append(list, Progress{Minion: minion, State: Sent, Since: j.Started})
		}
		return &list[i]
	}
	for _, id := range j.Minions {
		place(id)
	}
	for _, id := range j.Absent {
		place(id).State = Absent
	}
	for _, r := range returns {
		p := place(r.Minion)
		p.State, p.Since = Returned, r.Received
	}
	return list
}

// Overlay applies learned states to the result of Derive: each replaces any state except Returned,
// and states of other minions are appended.
func Overlay(list, learned []Progress) []Progress {
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].Minion] = i
	}
	for _, p := range learned {
		i, ok := at[p.Minion]
		switch {
		case !ok:
			at[p.Minion] = len(list)
			list = append(list, p)
		case list[i].State != Returned:
			list[i] = p
		}
	}
	return list
}

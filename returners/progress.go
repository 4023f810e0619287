package returners

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/job"
)

// A State says how far a job has come on one minion.
type State string

// The states of a job on a minion, in the order in which they may follow one another. A later one replaces an earlier
// one and is never replaced by it, with exceptions: who was gone or queued may come back and be running, only who is not
// known to have the job can have missed it, and whoever returns has returned, whatever was thought of it.
const (
	Absent       State = "not connected" // had no connection when the job was sent
	Queued       State = "queued"        // was away; the job is kept for it
	Sent         State = "sent"          // the publication went out; nothing is known yet
	Acknowledged State = "acknowledged"  // the minion has said that it took the job
	Running      State = "running"       // the minion has said that it is at work
	Gone         State = "gone"          // the minion has said that it does not run the job, and has not returned; or its queued job expired
	Refused      State = "refused"       // what it returned was not taken, or it said that it will not run the job
	Returned     State = "returned"      // the return is kept
	Missed       State = "missed"        // the minion has not got the job, as far as can be told, and is not sent it any more
)

// order holds the states in the order in which they may follow one another.
var order = [...]State{Absent, Queued, Sent, Acknowledged, Running, Gone, Refused, Returned, Missed}

// Rank returns the place of a state in the order, from 1; 0 for what is no state. Caches keep it, so it never changes.
func (s State) Rank() int {
	for i, o := range order {
		if s == o {
			return i + 1
		}
	}
	return 0
}

// StateOf returns the state of a rank, "" where it is none.
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

// Progress is how far a job has come on one minion.
type Progress struct {
	Minion string
	State  State
	Since  time.Time // when the state was learned; for Returned when the return came
	Why    string    // for Refused, Gone and Missed: what is known of the reason; else empty
}

// A ProgressReader tells how far jobs have come. Several goroutines may use it.
type ProgressReader interface {
	// Progress returns one entry for each minion that is expected to return, in the order of Job.Minions, and after
	// them those for others that took part. The error wraps ErrUnknownJob where there is no such job.
	Progress(ctx context.Context, id job.ID) ([]Progress, error)
}

// A Tracker keeps how far jobs have come. It is what a JobCache may be besides; a cache that is none knows only who
// returned. Returned follows from SaveReturn, and Sent and Absent from SaveJob.
type Tracker interface {
	ProgressReader
	// Track notes states, without waiting for the disk: what was noted in the last second may be lost when the program
	// is killed, and then an earlier state is told, never one that was not. States of jobs or minions that are not
	// known are dropped, and so is a state that may not follow what is known already.
	Track(id job.ID, list ...Progress)
}

// ProgressOf returns how far a job has come, from any cache: one that is no ProgressReader tells only who returned.
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

// Derive returns what a job and its returns say of its progress.
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

// Overlay puts states that were learned over what Derive returned: each in the place of anything but a return, and those
// of other minions behind.
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

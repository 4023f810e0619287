package batch

import (
	"slices"
	"time"
)

// A Run is how far a batch has come. One goroutine at a time may use it.
type Run struct {
	plan    Plan
	waiting []string          // have not started, in the order in which they will
	active  []string          // have started and not ended
	ended   map[string]Ending // by minion
	free    []time.Time       // when places that are kept empty may be taken again, the first first
	stopped bool
}

// An Ending is how a minion ended.
type Ending string

// The endings.
const (
	Answered Ending = "answered" // with a return code of 0
	Failed   Ending = "failed"   // with another
	Silent   Ending = "silent"   // it did not answer
)

// NewRun returns the run of a plan on minions, of which none has started.
func NewRun(p Plan, minions []string) *Run {
	r := &Run{plan: p, ended: map[string]Ending{}}
	r.Add(minions...)
	return r
}

// Add takes in further minions, which start in the order given; those that are known already count once.
func (r *Run) Add(minions ...string) {
	for _, id := range minions {
		if !r.knows(id) {
			r.waiting = append(r.waiting, id)
		}
	}
}

func (r *Run) knows(id string) bool {
	_, ended := r.ended[id]
	return ended || slices.Contains(r.waiting, id) || slices.Contains(r.active, id)
}

// Start returns the minions that start now, and counts them as started.
func (r *Run) Start(now time.Time) []string {
	r.release(now)
	if r.stopped {
		return nil
	}
	places := r.plan.Size.Of(r.total()) - len(r.active) - len(r.free)
	n := min(max(places, 0), len(r.waiting))
	next := slices.Clone(r.waiting[:n])
	r.waiting = r.waiting[n:]
	r.active = append(r.active, next...)
	return next
}

// Withdraw puts minions that were counted as started back before those that wait: they did not start after all.
func (r *Run) Withdraw(ids []string) {
	r.active = slices.DeleteFunc(r.active, func(id string) bool { return slices.Contains(ids, id) })
	r.waiting = append(slices.Clone(ids), r.waiting...)
}

// release gives back the places whose pause is over.
func (r *Run) release(now time.Time) {
	r.free = slices.DeleteFunc(r.free, func(at time.Time) bool { return !at.After(now) })
}

// total counts the minions of the run.
func (r *Run) total() int { return len(r.waiting) + len(r.active) + len(r.ended) }

// End notes how a minion ended, and reports whether it was at work. With failhard a failure ends the batch.
func (r *Run) End(id string, how Ending, now time.Time) bool {
	i := slices.Index(r.active, id)
	if i < 0 {
		return false
	}
	r.active = slices.Delete(r.active, i, i+1)
	r.ended[id] = how
	if r.plan.Wait > 0 {
		r.free = append(r.free, now.Add(r.plan.Wait))
	}
	if r.plan.Failhard && how != Answered {
		r.Stop()
	}
	return true
}

// Stop lets no further minion start.
func (r *Run) Stop() { r.stopped = true }

// Stopped reports whether the run was stopped.
func (r *Run) Stopped() bool { return r.stopped }

// Over reports whether nothing is left to wait for.
func (r *Run) Over() bool { return len(r.active) == 0 && (r.stopped || len(r.waiting) == 0) }

// Wake returns when a place is free again though nobody answers; ok is false when time alone changes nothing.
func (r *Run) Wake() (at time.Time, ok bool) {
	if len(r.free) == 0 || len(r.waiting) == 0 || r.stopped {
		return time.Time{}, false
	}
	return slices.MinFunc(r.free, time.Time.Compare), true
}

// Plan returns what the run is to do.
func (r *Run) Plan() Plan { return r.plan }

// Active returns the minions at work.
func (r *Run) Active() []string { return slices.Clone(r.active) }

// Waiting returns the minions that have not started.
func (r *Run) Waiting() []string { return slices.Clone(r.waiting) }

// Ended returns the minions that ended in one way, sorted.
func (r *Run) Ended(how Ending) []string {
	ids := []string{}
	for id, h := range r.ended {
		if h == how {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

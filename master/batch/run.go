package batch

import (
	"slices"
	"time"
)

// A Run is the progress of a batch. It is not safe for concurrent use.
type Run struct {
	plan    Plan
	waiting []string          // not started yet, in starting order
	active  []string          // started and not ended
	ended   map[string]Ending // by minion
	free    []time.Time       // when paused slots become free, the earliest first
	stopped bool
}

// An Ending is how a minion ended.
type Ending string

// The endings.
const (
	Answered Ending = "answered" // with a return code of 0
	Failed   Ending = "failed"   // with another return code
	Silent   Ending = "silent"   // it did not answer
)

// NewRun returns a run of a plan on minions that have not started.
func NewRun(p Plan, minions []string) *Run {
	r := &Run{plan: p, ended: map[string]Ending{}}
	r.Add(minions...)
	return r
}

// Add adds minions, which start in the given order. Known ones are ignored.
func (r *Run) Add(minions ...string) {
	known := make(map[string]bool, len(r.waiting)+len(r.active)+len(minions))
	for _, id := range r.waiting {
		known[id] = true
	}
	for _, id := range r.active {
		known[id] = true
	}
	for _, id := range minions {
		if _, ended := r.ended[id]; !ended && !known[id] {
			known[id] = true
			r.waiting = append(r.waiting, id)
		}
	}
}

// Start returns the minions to start now, and marks them as active.
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

// Withdraw moves minions that did not start after all back to the front of those that wait.
func (r *Run) Withdraw(ids []string) {
	r.active = slices.DeleteFunc(r.active, func(id string) bool { return slices.Contains(ids, id) })
	r.waiting = append(slices.Clone(ids), r.waiting...)
}

// release frees the slots whose pause is over.
func (r *Run) release(now time.Time) {
	r.free = slices.DeleteFunc(r.free, func(at time.Time) bool { return !at.After(now) })
}

// total returns the number of minions of the run.
func (r *Run) total() int { return len(r.waiting) + len(r.active) + len(r.ended) }

// End records how a minion ended, and reports whether it was at work. With Failhard a failure stops
// the batch.
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

// Stop prevents further minions from starting.
func (r *Run) Stop() { r.stopped = true }

// Stopped reports whether the run was stopped.
func (r *Run) Stopped() bool { return r.stopped }

// Over reports whether the run has ended.
func (r *Run) Over() bool { return len(r.active) == 0 && (r.stopped || len(r.waiting) == 0) }

// Wake returns when the next paused slot becomes free. ok is false if time alone changes nothing.
func (r *Run) Wake() (at time.Time, ok bool) {
	if len(r.free) == 0 || len(r.waiting) == 0 || r.stopped {
		return time.Time{}, false
	}
	return slices.MinFunc(r.free, time.Time.Compare), true
}

// Plan returns the plan of the run.
func (r *Run) Plan() Plan { return r.plan }

// Active returns the minions at work.
func (r *Run) Active() []string { return slices.Clone(r.active) }

// Waiting returns the minions that have not started.
func (r *Run) Waiting() []string { return slices.Clone(r.waiting) }

// Ended returns the sorted minions that ended in the given way.
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

package master

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/schedule"
)

// onceNotes are what the leader of a cluster notes before it does what is to be done once, for the
// next leader: when scheduled jobs ran, and how far the reactions to events are. What was not saved is
// not noted. It is safe for concurrent use.
type onceNotes struct {
	now  func() time.Time
	hold time.Duration // for which other members keep events

	writing sync.Mutex // held while notes are saved; locked before mu

	mu     sync.Mutex // never held while something is written
	fence  stepSaver
	record onceRecord   // as it was saved last
	queue  []*noteWrite // that wait for the next write
}

// A stepSaver is what the notes need of cluster.Fence.
type stepSaver interface {
	Save(ctx context.Context, step []byte) error
}

var _ stepSaver = (*cluster.Fence)(nil)

// A noteWrite is a change that waits until it is saved.
type noteWrite struct {
	ctx    context.Context
	change func(*onceRecord)
	ended  bool // guarded by writing, as err
	err    error
}

func (w *noteWrite) end(err error) { w.ended, w.err = true, err }

// onceRecord is the step of the leader's fence.
type onceRecord struct {
	Ran    map[string]int64 `codec:"ran"`    // microseconds since 1970, by name of the job
	Events []eventNote      `codec:"events"` // the newest last
}

// An eventNote says how far the reactions to an event are.
type eventNote struct {
	ID   uint64 `codec:"id"`
	Next int    `codec:"next"` // index of the first reaction that was not begun
	Done bool   `codec:"done"`

	at time.Time // of the last change, by the clock of this member
}

const (
	// ranLife is how long a job that ran last is remembered.
	ranLife = 32 * 24 * time.Hour
	// mostNotes is how many events are remembered.
	mostNotes = 2000
	// begunLife is how long reactions that have begun and not ended are remembered at least.
	begunLife = time.Hour
	// notePause is how long a reaction waits that could not be noted.
	notePause = time.Second
)

// load reads what earlier leaders noted.
func (o *onceNotes) load(fence *cluster.Fence) error {
	var last onceRecord
	if step := fence.Last(); step != nil {
		if err := typed.Unmarshal(step, payload.WireLimits(), &last); err != nil {
			return fmt.Errorf("read what was done once: %w", err)
		}
	}
	now := o.now()
	for i := range last.Events { // the clock of the earlier leader may differ
		last.Events[i].at = now
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fence, o.record = fence, last
	return nil
}

// save makes a change and saves the notes. Changes that wait at the same time are saved together.
func (o *onceNotes) save(ctx context.Context, change func(*onceRecord)) error {
	w := &noteWrite{ctx: ctx, change: change}
	o.mu.Lock()
	o.queue = append(o.queue, w)
	o.mu.Unlock()
	o.writing.Lock()
	defer o.writing.Unlock()
	if !w.ended {
		o.saveAll(w)
	}
	return w.err
}

// saveAll saves the changes that wait, under the context of one of them. If that ends, the others go
// on waiting. The caller holds writing.
func (o *onceNotes) saveAll(by *noteWrite) {
	o.mu.Lock()
	all, fence, next := o.queue, o.fence, o.record.clone()
	o.queue = nil
	o.mu.Unlock()
	all = slices.DeleteFunc(all, func(w *noteWrite) bool {
		if err := w.ctx.Err(); err != nil {
			w.end(err)
			return true
		}
		w.change(&next)
		return false
	})
	if len(all) == 0 {
		return
	}
	err := errNotLeading
	if fence != nil {
		next.trim(o.now(), o.hold)
		err = saveStep(by.ctx, fence, &next)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.record = next
	}
	for _, w := range all {
		if w != by && err != nil && by.ctx.Err() != nil {
			o.queue = append(o.queue, w)
			continue
		}
		w.end(err)
	}
}

func saveStep(ctx context.Context, fence stepSaver, r *onceRecord) error {
	step, err := typed.Marshal(r)
	if err != nil {
		return err
	}
	return fence.Save(ctx, step)
}

// clone returns a copy that can be changed.
func (r *onceRecord) clone() onceRecord {
	c := onceRecord{Ran: maps.Clone(r.Ran), Events: slices.Clone(r.Events)}
	if c.Ran == nil {
		c.Ran = map[string]int64{}
	}
	return c
}

// trim forgets what is old, and the oldest events if there are too many: first those whose reactions
// have ended. The end of reactions is remembered for longer than other members keep the event.
func (r *onceRecord) trim(now time.Time, hold time.Duration) {
	doneLife := 2 * hold
	maps.DeleteFunc(r.Ran, func(_ string, at int64) bool { return now.Sub(time.UnixMicro(at)) > ranLife })
	r.Events = slices.DeleteFunc(r.Events, func(n eventNote) bool {
		life := max(begunLife, doneLife)
		if n.Done {
			life = doneLife
		}
		return now.Sub(n.at) > life
	})
	over := len(r.Events) - mostNotes
	r.Events = slices.DeleteFunc(r.Events, func(n eventNote) bool {
		if over > 0 && n.Done {
			over--
			return true
		}
		return false
	})
	r.Events = r.Events[max(over, 0):]
}

// runs reports whether a scheduled job is to run at a time: not if it has run already for its time, or
// less than its interval ago. A job that ran in the future, by a clock that was wrong, runs at once if
// that is further away than its interval, and else waits for the interval after that time.
func (r *onceRecord) runs(c schedule.Call, now time.Time) bool {
	last, before := r.Ran[c.Name]
	at, every := time.UnixMicro(last), everyOf(c)
	ahead := at.Sub(now)
	if !before || ahead > clockSkew || every > 0 && ahead > every {
		return true
	}
	return c.Due.After(at) && now.Sub(at) >= every-time.Second
}

// begin reports whether a scheduled job is to run now, and notes that it does. The error says that
// this member does not lead any more, or that the cluster does not answer.
func (o *onceNotes) begin(ctx context.Context, c schedule.Call) (bool, error) {
	if c.Due.IsZero() { // run_job
		return true, nil
	}
	now := o.now()
	o.mu.Lock()
	runs := o.record.runs(c, now)
	o.mu.Unlock()
	if !runs {
		return false, nil
	}
	err := o.save(ctx, func(r *onceRecord) {
		if runs = r.runs(c, now); runs {
			r.Ran[c.Name] = now.UnixMicro()
		}
	})
	if err != nil {
		return false, fmt.Errorf("note that scheduled job %s runs: %w", c.Name, err)
	}
	return runs, nil
}

// mayLead implements a part of orderLog.
func (o *onceNotes) mayLead(ctx context.Context) error { return o.save(ctx, func(*onceRecord) {}) }

// event returns how far the reactions to an event are.
func (o *onceNotes) event(id uint64) eventNote {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.record.find(id); i >= 0 {
		return o.record.Events[i]
	}
	return eventNote{ID: id}
}

// done returns the events whose reactions have ended.
func (o *onceNotes) done() map[uint64]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	done := map[uint64]bool{}
	for _, n := range o.record.Events {
		if n.Done {
			done[n.ID] = true
		}
	}
	return done
}

// find returns the index of the note about an event, or -1. The newest are looked at first.
func (r *onceRecord) find(id uint64) int {
	for i, n := range slices.Backward(r.Events) {
		if n.ID == id {
			return i
		}
	}
	return -1
}

// note notes how far the reactions to an event are.
func (o *onceNotes) note(ctx context.Context, n eventNote) error {
	n.at = o.now()
	err := o.save(ctx, func(r *onceRecord) {
		if i := r.find(n.ID); i >= 0 {
			r.Events = slices.Delete(r.Events, i, i+1)
		}
		r.Events = append(r.Events, n)
	})
	if err != nil {
		return fmt.Errorf("note how far the reactions to an event are: %w", err)
	}
	return nil
}

// everyOf returns the interval of a job, 0 for a job that has none.
func everyOf(c schedule.Call) time.Duration {
	var all time.Duration
	for name, unit := range map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute,
		"hours": time.Hour, "days": 24 * time.Hour} {
		switch n := c.Raw.Value(name).(type) {
		case int64:
			all += time.Duration(n) * unit
		case float64:
			all += time.Duration(n * float64(unit))
		}
	}
	return all
}

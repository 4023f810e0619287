package syndic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// replayPause is the time after which the job cache is read for all jobs again. This finds returns whose
// events the syndic has missed unnoticed.
const replayPause = 10 * time.Minute

// gapPause is how long the job cache is not read again after the event bus has dropped events: for this time
// after a read, or for the duration of the read if that is longer. Notices in between cause one more read.
const gapPause = 10 * time.Second

// maxMarked is how many jobs may be marked; with more, all jobs of the journal are read.
const maxMarked = 10_000

// A replay sends returns that are in the job cache of the lower master, but were not acknowledged by
// an upper master. It is safe for concurrent use.
type replay struct {
	s    *Syndic
	wake chan struct{}
	gaps chan struct{} // signaled when the event bus has dropped events

	mu     sync.Mutex
	marked map[job.ID]bool // jobs whose returns were dropped from memory
	every  bool            // read all unfinished jobs

	trimmed trimmed
}

func newReplay(s *Syndic) *replay {
	return &replay{s: s, wake: make(chan struct{}, 1), gaps: make(chan struct{}, 1), marked: map[job.ID]bool{},
		trimmed: trimmed{more: make(chan struct{}, 1)}}
}

// mark records that a return of a job has to be read from the job cache. Call kick to do so soon.
func (r *replay) mark(id job.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.marked) >= maxMarked {
		r.every = true
		return
	}
	r.marked[id] = true
}

// kickIfMarked makes the replay read the marked jobs, if there are any.
func (r *replay) kickIfMarked() {
	r.mu.Lock()
	waits := len(r.marked) > 0 || r.every
	r.mu.Unlock()
	if waits {
		r.kick()
	}
}

// all makes the replay read all unfinished jobs.
func (r *replay) all() {
	r.markAll()
	r.kick()
}

// markAll records that all unfinished jobs have to be read.
func (r *replay) markAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.every = true
}

// gap makes the replay read all unfinished jobs because the event bus has dropped events, at once unless it
// has done so within gapPause.
func (r *replay) gap() { signal(r.gaps) }

// kick makes the replay read the marked jobs.
func (r *replay) kick() {
	signal(r.wake)
}

// take returns the jobs to read, and unmarks them.
func (r *replay) take() []job.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []job.ID
	if r.every {
		ids = r.s.journal.unfinished()
	} else {
		for id := range r.marked {
			ids = append(ids, id)
		}
	}
	r.every = false
	clear(r.marked)
	return ids
}

// run works until ctx ends.
func (r *replay) run(ctx context.Context) error {
	tick := time.NewTicker(replayPause)
	defer tick.Stop()
	gaps := r.gaps // nil during the pause after a gap
	var rested <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			r.s.journal.clean()
			r.all()
		case <-rested:
			gaps, rested = r.gaps, nil
		case <-gaps:
			begun := time.Now()
			r.markAll()
			r.read(ctx)
			gaps, rested = nil, time.After(max(gapPause, time.Since(begun)))
		case <-r.wake:
			r.read(ctx)
		}
	}
}

// read reads the returns of the marked jobs. Once the queue of an upper master has no room for a return,
// the other jobs of this upper master stay marked until it has room.
func (r *replay) read(ctx context.Context) {
	cache := r.s.jobs()
	if cache == nil {
		return
	}
	full := map[string]bool{} // directories of upper masters without room
	for _, id := range r.take() {
		rec, _ := r.s.journal.find(id)
		if full[rec.dir] {
			r.mark(id)
			continue
		}
		err := r.readJob(ctx, cache, id)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errFull):
			full[rec.dir] = true
			r.mark(id)
		case err != nil: // the next look at all jobs tries again
			r.s.quiet.Warnf(r.s.log, "job cache", "read returns of job %s from the job cache: %v", id, err)
		}
	}
}

// errFull is returned if there is no room for a return.
var errFull = errors.New("the queue is full")

// readJob reads the returns of one job.
func (r *replay) readJob(ctx context.Context, cache JobReader, id job.ID) error {
	known, err := cache.Job(ctx, id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil
	}
	if err != nil {
		return err
	}
	seen, _ := r.s.journal.find(id)
	has := r.s.journal.acknowledged(id)
	var left []string // nil if any minion may return
	for _, m := range known.Minions {
		if !has[m] {
			left = append(left, m)
		}
	}
	more := false
	err = walk(ctx, cache, id, left, func(one returners.Return) error {
		if has[one.Minion] {
			return nil
		}
		more = true
		return r.send(id, known, one)
	})
	if err == nil && !more && left == nil && len(known.Minions) > 0 {
		r.s.journal.finish(id, seen)
	}
	return err
}

// send hands one return from the job cache to the router.
func (r *replay) send(id job.ID, known *returners.Job, one returners.Return) error {
	a, err := cachedAnswer(id, known, one)
	if err != nil {
		return fmt.Errorf("return of minion %s: %w", one.Minion, err)
	}
	if r.s.router.put(a) == refused {
		return errFull
	}
	return nil
}

// cachedAnswer returns a return in the job cache as an answer.
func cachedAnswer(id job.ID, known *returners.Job, one returners.Return) (*answer, error) {
	fields, err := payload.ParseFields(one.Load, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	if !fields.Has("return") {
		return nil, errReturn
	}
	err = errors.Join(fields.Set("jid", string(id)), fields.Set("id", one.Minion))
	if err == nil && !fields.Has("fun") {
		err = setFun(&fields, known)
	}
	if err != nil {
		return nil, err
	}
	return newAnswer(fields)
}

// setFun copies the function of a job to a return that does not name it.
func setFun(fields *payload.Fields, known *returners.Job) error {
	load, err := payload.ParseFields(known.Load, payload.WireLimits())
	if fun := load.Raw("fun"); err == nil && fun != nil {
		return fields.Set("fun", fun)
	}
	return err
}

// walk calls visit with the returns of some minions to a job, or with all returns if minions is nil.
func walk(
	ctx context.Context, cache JobReader, id job.ID, minions []string, visit func(returners.Return) error,
) error {
	if w, ok := cache.(returners.ReturnWalker); ok {
		return w.WalkReturns(ctx, id, minions, visit)
	}
	list, err := cache.Returns(ctx, id)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, m := range minions {
		wanted[m] = true
	}
	for _, one := range list {
		if minions != nil && !wanted[one.Minion] {
			continue
		}
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}

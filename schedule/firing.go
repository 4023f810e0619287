package schedule

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
)

var errNotRunning = errors.New("the scheduler is not running")

// start runs a job unless its maximum number of firings is running.
func (s *Scheduler) start(w *work, r reading, moment time.Time, function string) {
	if s.full(w) {
		s.skip(w, r, maxRunning)
		return
	}
	w.state.lastRun, w.state.skip = r.wall, ""
	if w.task != nil {
		s.do(w, w.task.Do)
		return
	}
	c := w.spec.call
	c.Due = moment.In(s.o.Location)
	if function != "" {
		c.Fun = function
	}
	s.execute(w, c)
}

// full reports whether the maximum number of firings of the job is running.
func (s *Scheduler) full(w *work) bool {
	switch {
	case w.task != nil:
		return s.running[w.name] > 0
	case !w.spec.call.JIDInclude:
		return false
	}
	n := s.running[w.name]
	if s.o.Running != nil {
		n = max(n, s.o.Running(w.spec.call.Name))
	}
	return n > 0 && n >= w.spec.call.MaxRunning
}

func (s *Scheduler) execute(w *work, c Call) {
	if w.spec.dryRun {
		s.o.Log.Debugf("Job %s has 'dry_run' set to True. Not running it.", c.Name)
		return
	}
	c = c.copied()
	s.do(w, func(ctx context.Context) error { return s.o.Run(ctx, c) })
}

// do calls f in a goroutine that Run waits for.
func (s *Scheduler) do(w *work, f func(ctx context.Context) error) {
	ctx, name := s.ctx, w.name
	s.running[name]++
	s.wg.Go(func() {
		err := safely(ctx, f)
		if err != nil && !errors.Is(err, context.Canceled) {
			s.o.Log.Errorf("run scheduled job %s: %v", name, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended(name)
	})
}

// safely calls f and converts a panic to an error, so that a job cannot end the daemon.
func safely(ctx context.Context, f func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f(ctx)
}

// ended records the end of a firing.
func (s *Scheduler) ended(name string) {
	if s.running[name]--; s.running[name] <= 0 {
		delete(s.running, name)
	}
}

// runJob runs a job now, regardless of its times and windows (salt/utils/schedule.py, run_job).
func (s *Scheduler) runJob(name string) error {
	w := s.find(name)
	switch {
	case s.ctx == nil || s.ctx.Err() != nil:
		return errNotRunning
	case w == nil:
		s.o.Log.Infof("Invalid function: %s in scheduled job %s.", data.Str(nil), name)
		return nil
	}
	if r := s.read(); s.full(w) {
		s.skip(w, r, maxRunning)
	} else if w.task != nil {
		s.do(w, w.task.Do)
	} else {
		s.o.Log.Infof("Running Job: %s", name)
		s.execute(w, w.spec.call)
	}
	return nil
}

// find returns the task or job with that name, or nil.
func (s *Scheduler) find(name string) *work {
	for _, list := range [][]*work{s.tasks, s.works} {
		for _, w := range list {
			if w.name == name {
				return w
			}
		}
	}
	return nil
}

// covered reports whether a task replaces the job, for example one that Salt has saved.
func (s *Scheduler) covered(w *work) bool {
	return w.task == nil && slices.ContainsFunc(s.tasks,
		func(t *work) bool { return t.name == w.name })
}

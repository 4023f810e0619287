package schedule

import (
	"context"
	"time"
)

// Run starts jobs at their times until ctx ends. Then it waits for running jobs, whose context is
// ctx, and returns nil. It may be called again after it has ended, even by a panic; jobs then keep
// their pace.
func (s *Scheduler) Run(ctx context.Context) error {
	s.open(ctx)
	defer s.leave(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-s.wake:
		}
		if d, ok := s.step(); ok {
			timer.Reset(d)
		} else {
			timer.Stop()
		}
	}
}

func (s *Scheduler) open(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

// leave waits for running jobs after ctx has ended. It does not wait after a panic, so that the
// next Run is not delayed.
func (s *Scheduler) leave(ctx context.Context) {
	s.mu.Lock()
	s.ctx = nil
	s.mu.Unlock()
	if ctx.Err() != nil {
		s.wg.Wait()
	}
}

// step runs jobs that are due, and returns how long none is. ok is false if none will ever be.
func (s *Scheduler) step() (d time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil || len(s.works)+len(s.tasks) == 0 {
		return 0, false
	}
	r := s.read()
	for _, list := range [][]*work{s.works, s.tasks} {
		for _, w := range list {
			if !w.on(s.globals) || s.covered(w) {
				continue
			}
			s.pass(w, r)
			if next, there := w.wait(r); there && (!ok || next < d) {
				d, ok = next, true
			}
		}
	}
	return d, ok
}

// pass runs a job if it is due.
func (s *Scheduler) pass(w *work, r reading) {
	if w.atStart {
		w.atStart = false
		w.begin(r)
		s.start(w, r, r.wall, "")
		return
	}
	if w.pace != nil {
		if moment, splay, came := w.pace.pass(r); came {
			was := w.held
			switch held := s.judge(w, r, moment, splay, true); {
			case was && !held:
				w.pace.restart(r) // an interval starts at the run
			case !held:
				w.pace.advance(r)
			}
		}
	}
	if w.extra != nil {
		if moment, splay, came := w.extra.pass(r); came {
			s.judge(w, r, moment, splay, false)
			w.extra.advance(r)
		}
	}
}

// judge runs or skips a job that is due. It reports whether the job stays due.
func (s *Scheduler) judge(
	w *work, r reading, moment time.Time, splay time.Duration, mayHold bool,
) (held bool) {
	var v verdict
	if w.task == nil {
		n := civil(r.wall, s.o.Location)
		v = w.spec.windows.check(n, civil(moment, s.o.Location), w.name)
	}
	_, paced := w.pace.(*interval)
	was := w.held
	w.held = (v.hold || v.err != "") && mayHold && paced
	if v.err != "" && v.err != w.fault {
		s.o.Log.Error(v.err)
	}
	w.fault = v.err
	switch {
	case v.err != "":
		w.opens = time.Time{}
	case w.held:
		w.opens = time.Time{}
		if !v.opens.IsZero() {
			w.opens = instant(v.opens, s.o.Location)
		}
		if !was {
			s.skip(w, r, v.skip)
		}
	case v.skip != "":
		s.skip(w, r, v.skip)
		s.runAgain(w, r, v.again)
	default:
		s.start(w, r, moment.Add(splay), v.function)
	}
	return w.held
}

func (s *Scheduler) skip(w *work, r reading, reason string) {
	s.o.Log.Debugf("Scheduled job %s is skipped: %s", w.name, reason)
	w.state.skip, w.state.skippedAt = reason, r.wall
	w.state.skips++
}

// runAgain schedules an extra run of a job at a civil time.
func (s *Scheduler) runAgain(w *work, r reading, at time.Time) {
	if at.IsZero() || w.extra == nil {
		return
	}
	for _, d := range w.spec.explicit {
		if d == exact(at) {
			return
		}
	}
	w.spec.explicit = append(w.spec.explicit[max(len(w.spec.explicit)-mostExplicit, 0):], exact(at))
	w.extra.retarget(w.spec.explicit, r)
}

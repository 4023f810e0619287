package faults

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/internal/clock"
)

// A Target is a process that faults happen to. Each method returns when it has had its effect, except
// Start, which does not wait until the process serves.
type Target interface {
	Start() error
	Kill() error     // by force
	End() error      // in good order
	Stop() error     // the process stands still
	Continue() error // a process that stands still goes on
}

// A Clocked is a Target whose clock can be set. SetClock returns when the clock is off by whole seconds;
// the process may have been started again for that, and may not serve yet.
type Clocked interface {
	Target
	SetClock(off time.Duration) error
}

// Play makes the faults of a schedule happen to targets, at their times since the call. done, if not
// nil, is called after each fault has begun and after it is undone, one at a time for each target. The
// error is that of ctx or of the first action that failed, and leaves its target as it is.
func (s Schedule) Play(
	ctx context.Context, targets map[string]Target, done func(f Fault, undone bool),
) error {
	begin := time.Now()
	perTarget := map[string][]Fault{}
	for _, f := range s.Faults {
		if targets[f.Target] == nil {
			return fmt.Errorf("play faults: there is no process %q", f.Target)
		}
		perTarget[f.Target] = append(perTarget[f.Target], f)
	}
	if done == nil {
		done = func(Fault, bool) {}
	}
	group, ctx := errgroup.WithContext(ctx)
	for name, list := range perTarget {
		group.Go(func() error {
			for _, f := range list {
				if err := f.play(ctx, begin, targets[name], done); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (f Fault) play(ctx context.Context, begin time.Time, t Target, done func(Fault, bool)) error {
	if err := clock.Sleep(ctx, time.Until(begin.Add(f.At))); err != nil {
		return err
	}
	hit, undo := t.Kill, t.Start
	switch f.Kind {
	case Clock:
		c, ok := t.(Clocked)
		if !ok {
			return fmt.Errorf("the clock of %s cannot be set", f.Target)
		}
		hit = func() error { return c.SetClock(f.Off) }
		undo = func() error { return c.SetClock(0) }
	case Stop:
		hit, undo = t.Stop, t.Continue
	case Restart:
		hit = t.End
	}
	if err := hit(); err != nil {
		return fmt.Errorf("%s %s: %w", f.Kind, f.Target, err)
	}
	done(f, false)
	if err := clock.Sleep(ctx, time.Until(begin.Add(f.end()))); err != nil {
		return err
	}
	if err := undo(); err != nil {
		return fmt.Errorf("undo %s of %s: %w", f.Kind, f.Target, err)
	}
	done(f, true)
	return nil
}

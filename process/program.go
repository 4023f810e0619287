package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A program is a started command with its descendants.
type program struct {
	cmd    *exec.Cmd
	group  *group
	flows  *flows
	delay  time.Duration // how long output may stay open after the end; no limit below 0
	exited chan error    // gets the result of cmd.Wait
	left   bool          // runs on without us; set before wait returns
	note   Note          // is called at the end, unless the program is left

	mu   sync.Mutex
	gone bool // the group has no members any more, so its id may be reused
}

// start starts cmd. watch may be nil.
func start(cmd *exec.Cmd, watch func(Intent, error) Note) (*program, error) {
	f, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, flows: f, delay: cmd.WaitDelay, exited: make(chan error, 1),
		note: noNote{}}
	if p.delay == 0 {
		p.delay = waitTime
	}
	cmd.WaitDelay = 0
	setGroup(cmd)
	if watch != nil {
		p.note = watch(newIntent(cmd, f.theirs))
	}
	if err := cmd.Start(); err != nil {
		f.abandon()
		p.note.Ended()
		return nil, startError(cmd, err)
	}
	p.note.Started(cmd.Process.Pid)
	p.group = newGroup(cmd)
	f.run()
	go func() {
		err := cmd.Wait()
		p.reaped()
		p.exited <- err
	}()
	return p, nil
}

// noNote is the note of a program that nobody watches.
type noNote struct{}

func (noNote) Started(int) {}
func (noNote) Ended()      {}

// reaped records that the leader of the group has been reaped, and that the group is gone if it has
// no other members. While it has members, its id cannot be reused.
func (p *program) reaped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = p.group.empty()
}

func (p *program) signal(sig os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.gone = p.group.signal(sig)
	}
}

// wait returns when the program and its output have ended.
func (p *program) wait(ctx context.Context) error {
	defer p.group.close()
	defer p.closeOutput()
	var err error
	select {
	case err = <-p.exited:
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.end(ctx, p.exited))
	}
	select {
	case <-p.flows.done:
		return err
	case <-p.outputTimeout():
		if err == nil {
			err = exec.ErrWaitDelay
		}
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.end(ctx, nil))
	}
}

// closeOutput stops reading from a program, unless it was left running.
func (p *program) closeOutput() {
	if !p.left {
		p.flows.close()
	}
}

// outputTimeout returns a channel that fires when output has been open for too long after the end.
func (p *program) outputTimeout() <-chan time.Time {
	if p.delay < 0 {
		return nil
	}
	return time.After(p.delay)
}

// end stops a program whose context has ended, or leaves it. exited is nil if its leader has ended
// already.
func (p *program) end(ctx context.Context, exited <-chan error) (err error) {
	if errors.Is(context.Cause(ctx), ErrLeave) {
		p.left = true
		return p.flows.leave()
	}
	if !errors.Is(context.Cause(ctx), ErrTimeout) {
		p.signal(terminate)
		exited, err = p.await(exited, endTime)
	}
	p.signal(os.Kill)
	if exited != nil {
		err = <-exited
	}
	_, _ = p.await(nil, waitTime)
	return err
}

// await waits for the end of the program and its output, up to a timeout. The channel that it
// returns is nil if the leader ended.
func (p *program) await(exited <-chan error, d time.Duration) (_ <-chan error, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	done := p.flows.done
	for exited != nil || done != nil {
		select {
		case err = <-exited:
			exited = nil
		case <-done:
			done = nil
		case <-t.C:
			return exited, err
		}
	}
	return nil, err
}

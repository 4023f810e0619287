package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A program is a command that was started, with what it started.
type program struct {
	cmd    *exec.Cmd
	group  *group
	flows  *flows
	delay  time.Duration // how long output may stay open after the end; below 0 for ever
	exited chan error    // gets the result of cmd.Wait
	left   bool          // runs on without us; set before wait returns
	note   Note          // told of the end, unless it is left

	mu   sync.Mutex
	gone bool // the group has no members any more, its number may be another's
}

// start starts cmd. watch may be nil.
func start(cmd *exec.Cmd, watch func(Intent, error) Note) (*program, error) {
	f, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, flows: f, delay: cmd.WaitDelay, exited: make(chan error, 1), note: noNote{}}
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

// reaped notes that the head of the group is no more, and with it the group when it has no other members. As long as it has
// some its number cannot be given away.
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
	defer p.cut()
	var err error
	select {
	case err = <-p.exited:
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.end(ctx, p.exited))
	}
	select {
	case <-p.flows.done:
		return err
	case <-p.late():
		if err == nil {
			err = exec.ErrWaitDelay
		}
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.end(ctx, nil))
	}
}

// cut ends what is read of a program, unless that was left running.
func (p *program) cut() {
	if !p.left {
		p.flows.close()
	}
}

// late tells when output has been open for too long after the end.
func (p *program) late() <-chan time.Time {
	if p.delay < 0 {
		return nil
	}
	return time.After(p.delay)
}

// end stops a program whose context has ended, or leaves it. exited is nil when its head has ended already.
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

// await waits for the end of the program and its output, for a time. The channel that it returns is nil when the head ended.
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

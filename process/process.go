// Package process runs programs for jobs.
//
// Every program is the head of a session and process group of its own, so that all it starts can be signalled with it, and
// stands in the [Tree] of the job that its context carries: a job that is ended takes its programs along.
//
//	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, process.ErrTimeout)
//	defer cancel()
//	cmd := exec.Command("df", "-k")
//	cmd.Stdout = &out
//	err := process.Run(ctx, cmd)
//
// Output goes to the writers of the exec.Cmd. Nothing runs through a shell unless the caller names one. What a program leaves
// running when it ends lives on, outside of the tree; what has left the process group by then (a daemon) cannot be signalled.
// A program has no controlling terminal, so one that asks for a password fails at once and does not wait.
//
// On Windows the group is a job object, and ending is killing, as there is no signal for less.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// Forever as WaitDelay of an exec.Cmd makes Run wait until all that the program has left running closes its output,
	// as the subprocess module of Python does. ctx still ends it.
	Forever time.Duration = -1

	endTime  = 5 * time.Second // how long a program that was told to end may take before it is killed
	waitTime = time.Second     // how long output may stay open after the end when WaitDelay is 0
)

// ErrTimeout is the cause of contexts whose end kills the program at once, without telling it first.
var ErrTimeout = errors.New("the time of the program is over")

// ErrLeave is the cause of contexts whose end leaves the program running: Run returns without it. What it still writes is
// dropped, also after the end of this process, so that it does not break off for want of a reader.
var ErrLeave = errors.New("the program is left running")

// A Tree is the programs of one job. Several goroutines may use it.
type Tree struct {
	mu    sync.Mutex
	live  map[*program]struct{}
	watch func(Intent, error) Note
}

// NewTree returns a Tree without programs.
func NewTree() *Tree { return &Tree{live: map[*program]struct{}{}} }

// Watch has f called for each program of the tree right before it is started, and what f returns told of its life. f gets an
// error when the program could not be found again; where there is no way to, that wraps errors.ErrUnsupported. f must
// not use the tree.
func (t *Tree) Watch(f func(Intent, error) Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = f
}

// Signal sends sig to every program of the tree and to what those have started.
func (t *Tree) Signal(sig os.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.live {
		p.signal(sig)
	}
}

// PIDs returns the process ids of the programs that run, in no order.
func (t *Tree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pids []int
	for p := range t.live {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// start starts cmd in the tree. A Signal of the same time reaches the program, since it waits until that stands here.
func (t *Tree) start(cmd *exec.Cmd) (*program, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := start(cmd, t.watch)
	if err == nil {
		t.live[p] = struct{}{}
	}
	return p, err
}

func (t *Tree) remove(p *program) {
	t.mu.Lock()
	delete(t.live, p)
	t.mu.Unlock()
	if !p.left {
		p.note.Ended()
	}
}

type treeKey struct{}

// WithTree returns a context whose programs stand in t.
func WithTree(ctx context.Context, t *Tree) context.Context {
	return context.WithValue(ctx, treeKey{}, t)
}

func treeOf(ctx context.Context) *Tree {
	if t, ok := ctx.Value(treeKey{}).(*Tree); ok {
		return t
	}
	return NewTree()
}

// Run starts cmd and waits for its end and that of its output, for which WaitDelay sets a limit: 0 is a second, Forever none.
//
// When ctx ends, the program and all that it started are told to end, and killed if they do not within five seconds; when the
// cause is ErrTimeout they are killed at once, and when it is ErrLeave they run on. The error then wraps the cause. Otherwise the
// error is that of exec.Cmd.Wait, or exec.ErrWaitDelay when the program succeeded and its output stayed open beyond the limit.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	tree := treeOf(ctx)
	p, err := tree.start(cmd)
	if err != nil {
		return err
	}
	defer tree.remove(p)
	return p.wait(ctx)
}

// Start starts cmd and returns. The program belongs to no job and outlives it; its end is waited for, so that it leaves no
// zombie, and its status is lost. Its input and output should be files or nil.
func Start(cmd *exec.Cmd) error {
	setGroup(cmd)
	if err := cmd.Start(); err != nil {
		return startError(cmd, err)
	}
	go func() { _ = cmd.Wait() }() // the status is nobody's; main need not wait for it, init takes over
	return nil
}

func startError(cmd *exec.Cmd, err error) error { return fmt.Errorf("start %s: %w", cmd.Path, err) }

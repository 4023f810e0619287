// Package process runs programs for jobs.
//
// Every program is the leader of its own session and process group, so that all its descendants can
// be signalled with it. It belongs to the [Tree] of the job that its context carries: ending a job
// ends its programs.
//
//	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, process.ErrTimeout)
//	defer cancel()
//	cmd := exec.Command("df", "-k")
//	cmd.Stdout = &out
//	err := process.Run(ctx, cmd)
//
// Output goes to the writers of the exec.Cmd. Nothing runs through a shell unless the caller names
// one. Processes that a program leaves running live on, outside of the tree; processes that have
// left the group by then (a daemon) cannot be signalled. A program has no controlling terminal, so
// one that asks for a password fails at once and does not wait.
//
// On Windows the group is a job object, and ending a program means killing it, as there is no
// gentler signal.
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
	// Forever as WaitDelay of an exec.Cmd makes Run wait until all processes that the program has
	// left running close its output, as the subprocess module of Python does. ctx still ends it.
	Forever time.Duration = -1

	endTime  = 5 * time.Second // from the request to end until the program is killed
	waitTime = time.Second     // how long output may stay open after the end when WaitDelay is 0
)

// ErrTimeout is the cause of contexts whose end kills the program at once, without asking it to end
// first.
var ErrTimeout = errors.New("the program exceeded its time limit")

// ErrLeave is the cause of contexts whose end leaves the program running: Run returns without it.
// Its further output is dropped, even after the end of this process, so that it does not fail for
// lack of a reader.
var ErrLeave = errors.New("the program is left running")

// A Tree is the programs of one job. It is safe for concurrent use.
type Tree struct {
	mu    sync.Mutex
	live  map[*program]struct{}
	watch func(Intent, error) Note
}

// NewTree returns a Tree without programs.
func NewTree() *Tree { return &Tree{live: map[*program]struct{}{}} }

// Watch makes the tree call f for each program right before it is started, and report the program's
// start and end to the Note that f returns. f gets an error if the program could not be found again
// later; it wraps errors.ErrUnsupported if the system has no way to do that. f must not use the
// tree.
func (t *Tree) Watch(f func(Intent, error) Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = f
}

// Signal sends sig to every program of the tree and to their descendants.
func (t *Tree) Signal(sig os.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.live {
		p.signal(sig)
	}
}

// PIDs returns the process ids of the running programs, in no order.
func (t *Tree) PIDs() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pids []int
	for p := range t.live {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// start starts cmd in the tree. A concurrent Signal reaches the program, since it waits until the
// program is in the tree.
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

// WithTree returns a context whose programs belong to t.
func WithTree(ctx context.Context, t *Tree) context.Context {
	return context.WithValue(ctx, treeKey{}, t)
}

func treeOf(ctx context.Context) *Tree {
	if t, ok := ctx.Value(treeKey{}).(*Tree); ok {
		return t
	}
	return NewTree()
}

// Run starts cmd and waits for its end and the end of its output. WaitDelay limits the wait for
// output: 0 means a second, Forever no limit.
//
// When ctx ends, the program and its descendants are asked to end, and killed after five seconds.
// If the cause is ErrTimeout they are killed at once, and if it is ErrLeave they run on. The error
// then wraps the cause. Otherwise the error is that of exec.Cmd.Wait, or exec.ErrWaitDelay if the
// program succeeded and its output stayed open beyond the limit.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	wait, err := Begin(ctx, cmd)
	if err != nil {
		return err
	}
	return wait()
}

// Begin starts cmd as Run does and returns when it has started. The caller must call wait once: it
// waits for the end and returns what Run returns. Until then the end of ctx has no effect.
func Begin(ctx context.Context, cmd *exec.Cmd) (wait func() error, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	tree := treeOf(ctx)
	p, err := tree.start(cmd)
	if err != nil {
		return nil, err
	}
	return func() error {
		defer tree.remove(p)
		return p.wait(ctx)
	}, nil
}

// Start starts cmd and returns. The program belongs to no job and outlives it. Start waits for its
// end in the background, so that it does not become a zombie, and drops its status. Its input and
// output should be files or nil.
func Start(cmd *exec.Cmd) error {
	setGroup(cmd)
	if err := cmd.Start(); err != nil {
		return startError(cmd, err)
	}
	// nobody needs the status; main need not wait for it, init takes over
	go func() { _ = cmd.Wait() }()
	return nil
}

func startError(cmd *exec.Cmd, err error) error { return fmt.Errorf("start %s: %w", cmd.Path, err) }

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// flows are the copies between a program's pipes and the reader and writers of its command. They
// are made here, and not by package exec, so that they can outlast the program without a limit and
// still be cut off.
type flows struct {
	copies []func()   // copies of output, to be run
	input  func()     // copy of input, or nil
	ours   []*os.File // our ends of the pipes
	theirs []*os.File
	reads  []*os.File    // those of ours from which output is read
	valves []*valve      // through which output goes to the writers
	done   chan struct{} // closed when all output has been read
}

// A valve forwards writes until it is closed; after that it drops them.
type valve struct {
	mu     sync.Mutex
	to     io.Writer
	closed bool
}

// Write forwards p.
func (v *valve) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return len(p), nil
	}
	return v.to.Write(p)
}

func (v *valve) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
}

// connect replaces readers and writers that are not files by pipes.
func connect(cmd *exec.Cmd) (*flows, error) {
	f := &flows{done: make(chan struct{})}
	err := f.connectOutput(cmd)
	if err == nil {
		err = f.connectInput(cmd)
	}
	if err != nil {
		f.abandon()
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return f, nil
}

func (f *flows) connectOutput(cmd *exec.Cmd) (err error) {
	same := sameWriter(cmd.Stdout, cmd.Stderr)
	if cmd.Stdout, err = f.output(cmd.Stdout); err != nil {
		return err
	}
	if same {
		cmd.Stderr = cmd.Stdout
		return nil
	}
	cmd.Stderr, err = f.output(cmd.Stderr)
	return err
}

// sameWriter reports whether both outputs go to one writer. Types that cannot be compared count as
// different.
func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a != nil && a == b
}

// output returns the file that the program writes to instead of w.
func (f *flows) output(w io.Writer) (io.Writer, error) {
	if _, ok := w.(*os.File); ok || w == nil {
		return w, nil
	}
	r, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f.ours, f.theirs = append(f.ours, r), append(f.theirs, theirs)
	v := &valve{to: w}
	f.reads, f.valves = append(f.reads, r), append(f.valves, v)
	f.copies = append(f.copies, func() {
		if _, err := io.Copy(v, r); err != nil {
			_, _ = io.Copy(io.Discard, r) // the program must not block when nobody reads its output
		}
	})
	return theirs, nil
}

func (f *flows) connectInput(cmd *exec.Cmd) error {
	if _, ok := cmd.Stdin.(*os.File); ok || cmd.Stdin == nil {
		return nil
	}
	theirs, w, err := os.Pipe()
	if err != nil {
		return err
	}
	f.ours, f.theirs = append(f.ours, w), append(f.theirs, theirs)
	from := cmd.Stdin
	cmd.Stdin = theirs
	f.input = func() {
		_, _ = io.Copy(w, from) // a program need not read all of its input
		_ = w.Close()
	}
	return nil
}

// run starts the copies, once the program has its ends of the pipes.
func (f *flows) run() {
	closeAll(f.theirs)
	if f.input != nil {
		go f.input() // ends when the reader does, or with close
	}
	var wg sync.WaitGroup
	for _, c := range f.copies {
		wg.Go(c)
	}
	go func() {
		wg.Wait()
		close(f.done)
	}()
}

// close stops the copies. Later output is lost.
func (f *flows) close() {
	closeAll(f.ours)
	<-f.done
}

// leave lets the program write on without a reader in this process. Nothing reaches the writers any
// more, and when this process has ended, other processes drain the pipes.
func (f *flows) leave() error {
	var errs []error
	for i, r := range f.reads {
		f.valves[i].close()
		errs = append(errs, readOn(r))
	}
	return errors.Join(errs...)
}

// abandon closes the pipes of a program that was not started.
func (f *flows) abandon() {
	closeAll(f.theirs)
	closeAll(f.ours)
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

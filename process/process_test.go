//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRunGivesOutputAndStatus(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "echo hello; exit 3")
	cmd.Stdout = &out
	err := Run(t.Context(), cmd)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != "hello\n" {
		t.Errorf("Run = %v, output %q, want status 3 and hello", err, out.String())
	}
}

func TestContextEndEndsDescendants(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	out := &lineWriter{line: make(chan string, 1)}
	r, w, err := os.Pipe() // descendants of the program hold the other end until they have ended
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.Stdout, cmd.ExtraFiles = out, []*os.File{w}
	done := make(chan error)
	go func() { done <- Run(ctx, cmd) }()
	pid, err := strconv.Atoi(<-out.line)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("Run = %v, want %v", err, cause)
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("process %d still runs: %v", pid, err)
	}
}

func TestSignalReachesTheProgramsOfAJob(t *testing.T) {
	tree := NewTree()
	out := &lineWriter{line: make(chan string, 1)}
	cmd := exec.Command("sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	cmd.Stdout = out
	done := make(chan error)
	go func() { done <- Run(WithTree(t.Context(), tree), cmd) }()
	<-out.line
	if pids := tree.PIDs(); len(pids) != 1 {
		t.Errorf("PIDs = %v, want one", pids)
	}
	tree.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := <-done; !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("Run = %v, want status 7", err)
	}
	if pids := tree.PIDs(); len(pids) != 0 {
		t.Errorf("PIDs = %v after the end", pids)
	}
}

// lineWriter reports the first line written to it.
type lineWriter struct {
	buf  bytes.Buffer
	line chan string
	sent bool
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.buf.Write(p)
	if text, _, ok := strings.Cut(w.buf.String(), "\n"); ok && !w.sent {
		w.sent = true
		w.line <- text
	}
	return len(p), nil
}

// isZombie reports whether a process has ended and waits for its parent, which is not this process.
func isZombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestRunWaitsForOutputOfDescendants(t *testing.T) {
	hold := filepath.Join(t.TempDir(), "hold")
	if err := syscall.Mkfifo(hold, 0o600); err != nil {
		t.Fatal(err)
	}
	out := &lineWriter{line: make(chan string, 1)}
	cmd := exec.Command("sh", "-c", "echo now; (read x <"+hold+"; echo late) &")
	cmd.Stdout, cmd.WaitDelay = out, Forever
	done := make(chan error)
	go func() { done <- Run(t.Context(), cmd) }()
	<-out.line
	if err := os.WriteFile(hold, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || out.buf.String() != "now\nlate\n" {
		t.Errorf("Run = %v, output %q, want all of it", err, out.buf.String())
	}
}

func TestOutputHeldOpenIsCutOff(t *testing.T) {
	out := &lineWriter{line: make(chan string, 1)}
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!")
	cmd.Stdout, cmd.WaitDelay = out, 10*time.Millisecond
	if err := Run(t.Context(), cmd); !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("Run = %v, want %v", err, exec.ErrWaitDelay)
	}
	pid, err := strconv.Atoi(<-out.line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("what the program left running is gone: %v", err)
	}
}

func TestTimeoutKillsAllAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &lineWriter{line: make(chan string, 1)}
	// ends, its child does not
	cmd := exec.Command("sh", "-c", "trap '' TERM; (trap '' TERM; sleep 1000) & echo $!")
	cmd.Stdout, cmd.WaitDelay = out, Forever
	done := make(chan error)
	go func() { done <- Run(ctx, cmd) }()
	pid, err := strconv.Atoi(<-out.line)
	if err != nil {
		t.Fatal(err)
	}
	cancel(ErrTimeout)
	if err := <-done; !errors.Is(err, ErrTimeout) {
		t.Errorf("Run = %v, want %v", err, ErrTimeout)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !isZombie(pid) {
		t.Errorf("process %d still runs: %v", pid, err)
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 0")
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(strings.Repeat("x", 1<<20)), Forever
	if err := Run(t.Context(), cmd); err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestBothOutputsInOrder(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2; cat")
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &out, strings.NewReader("5\n")
	if err := Run(t.Context(), cmd); err != nil || out.String() != "1\n2\n3\n4\n5\n" {
		t.Errorf("Run = %v, output %q", err, out.String())
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := Run(ctx, exec.Command("/nowhere/to/be/found")); !errors.Is(err, cause) {
		t.Errorf("Run = %v, want %v", err, cause)
	}
	if err := Run(t.Context(), exec.Command("/nowhere/to/be/found")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run = %v, want %v", err, os.ErrNotExist)
	}
}

func TestStartLeavesNoZombie(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	if err := syscall.Mkfifo(mark, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "echo $$ >"+mark)
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(mark)
	if err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(cmd.Process.Pid) {
		t.Fatalf("read %q, %v, want %d", text, err, cmd.Process.Pid)
	}
	for syscall.Kill(cmd.Process.Pid, 0) == nil { // go test ends it if this never comes to an end
		runtime.Gosched()
	}
}

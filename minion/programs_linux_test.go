package minion

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/process"
)

// aProgram runs a program of a job until the context ends, and returns its process id and what Run
// returns.
func aProgram(t *testing.T, ctx context.Context, p programs, words ...string) (pid int, done <-chan error) {
	t.Helper()
	tree := process.NewTree()
	tree.Watch(p.watch("20260101000000000001"))
	r, w := io.Pipe()
	cmd := exec.Command("sh", append([]string{"-c", "echo; sleep 1000 & wait"}, words...)...)
	cmd.Stdout, cmd.WaitDelay = w, process.Forever
	ended := make(chan error, 1)
	go func() { ended <- process.Run(process.WithTree(ctx, tree), cmd) }()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid = tree.PIDs()[0]
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }) // it has ended, if all is well
	return pid, ended
}

func notes(t *testing.T, p programs) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func alive(t *testing.T, pid int) bool {
	t.Helper()
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestProgramsAreNotedWhileTheyRun(t *testing.T) {
	p, err := makePrograms(t.TempDir(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	_, done := aProgram(t, ctx, p)
	if names := notes(t, p); len(names) != 1 || !strings.HasPrefix(names[0], "20260101000000000001.") {
		t.Errorf("notes %q of one program", names)
	}
	cancel(errKilled)
	if err := <-done; !errors.Is(err, errKilled) {
		t.Errorf("Run = %v", err)
	}
	if names := notes(t, p); len(names) != 0 {
		t.Errorf("notes %q after the end", names)
	}
}

func TestProgramsThatWereLeftAreEnded(t *testing.T) {
	p, err := makePrograms(t.TempDir(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	plain, plainDone := aProgram(t, ctx, p)
	restarts, restartsDone := aProgram(t, ctx, p, "service", "salt-minion", "restart")
	cancel(errStopped)
	for _, done := range []<-chan error{plainDone, restartsDone} {
		if err := <-done; !errors.Is(err, errStopped) {
			t.Errorf("Run = %v", err)
		}
	}
	if len(notes(t, p)) != 2 || !alive(t, plain) || !alive(t, restarts) {
		t.Errorf("notes %q of two programs that are left running", notes(t, p))
	}
	// whatever lies there
	if err := os.WriteFile(p.dir+"/20260101000000000001.1-2-3", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.end()
	if alive(t, plain) {
		t.Errorf("process %d runs on", plain)
	}
	if !alive(t, restarts) {
		t.Error("the program that restarts the minion was ended")
	}
	if names := notes(t, p); len(names) != 0 {
		t.Errorf("notes %q after all were ended", names)
	}
}

// TestNotesOfOthersAreNotBelieved puts the mark of a program of a job into the directory as another
// user would.
func TestNotesOfOthersAreNotBelieved(t *testing.T) {
	need.Root(t, "to give a file to another user")
	p, err := makePrograms(t.TempDir(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	pid, done := aProgram(t, ctx, p)
	cancel(process.ErrLeave)
	<-done
	for _, name := range notes(t, p) {
		if err := os.Chown(p.dir+"/"+name, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	p.end()
	if !alive(t, pid) {
		t.Error("the program was ended by what another user wrote")
	}
}

// asKilledStarter makes the test binary start a program of a job and be killed before it has noted
// that.
const asKilledStarter = "BRINE_TEST_KILLED_STARTER"

func killedBeforeTheNote(dir string) {
	p, err := makePrograms(dir, quiet())
	if err != nil {
		os.Exit(1)
	}
	tree, watch := process.NewTree(), p.watch("20260101000000000001")
	tree.Watch(func(i process.Intent, err error) process.Note { return killedNote{watch(i, err)} })
	cmd := exec.Command("sh", "-c", waitForNothing, "sh", dir)
	cmd.Stdout = io.Discard
	_ = process.Run(process.WithTree(context.Background(), tree), cmd)
	os.Exit(1)
}

// killedNote kills its process when it is to be written.
type killedNote struct{ process.Note }

func (killedNote) Started(int) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// waitForNothing is a script that tells its number and waits; its argument is a directory.
const waitForNothing = `echo $$ >"$1.pid"; read x <"$1.never"`

func TestProgramThatWasStartedRightBeforeAKillIsEnded(t *testing.T) {
	if dir := os.Getenv(asKilledStarter); dir != "" {
		killedBeforeTheNote(dir)
	}
	dir := t.TempDir() + "/programs"
	for _, end := range []string{".pid", ".never"} {
		if err := syscall.Mkfifo(dir+end, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), asKilledStarter+"="+dir)
	before := lookalike(t, dir, env)
	starter := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	starter.Env = env
	if err := starter.Run(); err == nil || starter.ProcessState.ExitCode() != -1 {
		t.Fatalf("the process that was to be killed: %v", err)
	}
	left := pidFrom(t, dir)
	after := lookalike(t, dir, env)
	p := programs{dir, quiet()}
	if names := notes(t, p); len(names) != 1 || !strings.HasPrefix(names[0], "20260101000000000001.intent-") {
		t.Errorf("notes %q of one program", names)
	}
	p.end()
	if alive(t, left) {
		t.Errorf("process %d runs on", left)
	}
	if !alive(t, before) || !alive(t, after) {
		t.Error("a program with the same command line that somebody else has started was ended")
	}
	if names := notes(t, p); len(names) != 0 {
		t.Errorf("notes %q after all were ended", names)
	}
}

// lookalike starts the same command in this process.
func lookalike(t *testing.T, dir string, env []string) (pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", waitForNothing, "sh", dir)
	cmd.Env, cmd.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	if err := process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	return pidFrom(t, dir)
}

func pidFrom(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(dir + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	return pid
}

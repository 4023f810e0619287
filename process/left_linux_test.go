package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func nobody(string) bool { return false }

// leave starts a program and leaves it, as a job does. It returns the program's mark and the tree.
func leave(t *testing.T, script string) (Mark, *Tree) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	tree := NewTree()
	marks := make(chan Mark, 1)
	tree.Watch(func(_ Intent, err error) Note {
		if err != nil {
			t.Error(err)
		}
		return watcher{func(pid int) {
			mark, err := MarkOf(pid)
			if err != nil {
				t.Error(err)
			}
			marks <- mark
		}, func() { t.Error("a program that was left is said to have ended") }}
	})
	out := &lineWriter{line: make(chan string, 1)}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout, cmd.WaitDelay = out, Forever
	done := make(chan error)
	go func() { done <- Run(WithTree(ctx, tree), cmd) }()
	<-out.line
	cancel(ErrLeave)
	if err := <-done; !errors.Is(err, ErrLeave) {
		t.Errorf("Run = %v, want %v", err, ErrLeave)
	}
	mark := <-marks
	t.Cleanup(func() { _ = syscall.Kill(-mark.PID, syscall.SIGKILL) })
	return mark, tree
}

func TestEndLeftEndsAGroup(t *testing.T) {
	for name, script := range map[string]string{
		"that ends":         "sleep 1000 & echo; wait",
		"that does not end": "trap '' TERM; echo; while :; do sleep 1000; done",
	} {
		t.Run(name, func(t *testing.T) {
			mark, _ := leave(t, script)
			if spared := EndLeft([]Mark{mark}, nobody); len(spared) != 0 {
				t.Errorf("spared %v", spared)
			}
			if !table().ended(mark.PID) {
				t.Errorf("group %d still runs", mark.PID)
			}
		})
	}
}

func TestEndLeftSignalsNobodyElse(t *testing.T) {
	mark, _ := leave(t, "echo; exec sleep 1000")
	other := mark
	other.start++
	if EndLeft([]Mark{other}, nobody); table().ended(mark.PID) {
		t.Error("a process with the number of one that is gone was ended")
	}
	other = mark
	other.boot = "of an earlier start"
	if EndLeft([]Mark{other}, nobody); table().ended(mark.PID) {
		t.Error("a process with the number of one before the restart of the host was ended")
	}
	spared := EndLeft([]Mark{mark}, func(line string) bool { return strings.Contains(line, "sleep 1000") })
	if len(spared) != 1 || table().ended(mark.PID) {
		t.Errorf("spared %v of a group that was to be spared", spared)
	}
}

func TestEndLeftSparesAncestors(t *testing.T) {
	if mine, err := MarkOf(os.Getpid()); err != nil ||
		!table().inSession(table()[os.Getpid()].session, mine.PID) {
		t.Errorf("this process is not of its own session (%v)", err)
	}
	mark, _ := leave(t, "sleep 1000 & echo; wait")
	all := table()
	children := 0
	for pid, s := range all {
		if s.parent == mark.PID {
			children++
			if !all.inSession(mark.PID, pid) {
				t.Errorf("%d is not of the session of its parent %d", pid, mark.PID)
			}
		}
	}
	if children != 1 || all.inSession(mark.PID, os.Getpid()) {
		t.Errorf("%d children", children)
	}
}

// TestLeftProgramCanWriteOn has a program write more than a pipe holds when no process of ours
// reads it any more.
func TestLeftProgramCanWriteOn(t *testing.T) {
	if dir := os.Getenv("BRINE_TEST_LEAVE"); dir != "" {
		leaveAndEnd(dir)
	}
	dir := t.TempDir()
	for _, name := range []string{"go", "done"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLeftProgramCanWriteOn$")
	cmd.Env = append(os.Environ(), "BRINE_TEST_LEAVE="+dir)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "done"))
	if err != nil || string(text) != "0 0\n" {
		t.Errorf("the program that was left says %q (%v), want success of both its writes", text, err)
	}
}

func leaveAndEnd(dir string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	out := &lineWriter{line: make(chan string, 1)}
	cmd := exec.Command("sh", "-c", "cd "+dir+
		"; echo; read x <go; head -c 1000000 /dev/zero; a=$?; echo more; echo $a $? >done")
	cmd.Stdout = out
	go func() {
		<-out.line
		cancel(ErrLeave)
	}()
	if err := Run(ctx, cmd); !errors.Is(err, ErrLeave) {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestNothingReachesTheWriterAfterLeave(t *testing.T) {
	var b bytes.Buffer
	v := &valve{to: &b}
	_, _ = v.Write([]byte("a"))
	v.close()
	if n, err := v.Write([]byte("b")); n != 1 || err != nil || b.String() != "a" {
		t.Errorf("Write = %d, %v; the writer has %q", n, err, b.String())
	}
}

func TestParseStat(t *testing.T) {
	text := "7 (a) b (x)) S 3 5 6 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 2"
	s, err := parseStat([]byte(text))
	if want := (stat{'S', 3, 5, 6, 64, 4711}); err != nil || s != want {
		t.Errorf("parseStat = %+v, %v; want %+v", s, err, want)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b (x)) S 3 5 6 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 2"))
	f.Add([]byte(")"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = parseStat(text) })
}

func FuzzParseMark(f *testing.F) {
	mark, err := MarkOf(os.Getpid())
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{mark.String(), "1-2-3", "--", "2-1-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMark(s)
		if err == nil && (m.String() != s || m.PID <= 1 || strings.ContainsAny(s, "/.")) {
			t.Errorf("ParseMark(%q) = %+v", s, m)
		}
	})
}

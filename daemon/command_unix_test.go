//go:build unix

package daemon

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/internal/test/need"
)

// lines returns a Command's Out and the channel that it writes to.
func lines() (func([]byte), <-chan string) {
	c := make(chan string, 100)
	return func(line []byte) { c <- string(line) }, c
}

func next(t *testing.T, c <-chan string) string {
	t.Helper()
	select {
	case line := <-c:
		return line
	case <-time.After(20 * time.Second):
		t.Fatal("the program says nothing")
		return ""
	}
}

// alive reports whether a process is there and no zombie.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func checkEnds(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); alive(t, pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s lives on", pid)
		}
	}
}

func TestCommandIsStartedAgainAndLeavesNothing(t *testing.T) {
	g, hook := newTestGroup()
	out, said := lines()
	c := Command{Name: "exporter",
		Argv: []string{"sh", "-c", "sleep 1000 & echo $! $$ $MARK; wait"},
		Env:  []string{"MARK=seen"}, Out: out}
	ctx, stop := context.WithCancel(t.Context())
	done := run(ctx, g, func() {}, c.Part(logrus.New()))
	first := strings.Fields(next(t, said))
	if len(first) != 3 || first[2] != "seen" {
		t.Fatalf("the program said %q", first)
	}
	head, _ := strconv.Atoi(first[1])
	if err := syscall.Kill(head, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := strings.Fields(next(t, said))
	checkEnds(t, first[0]) // what it had started
	if e := hook.LastEntry(); e == nil ||
		!strings.Contains(e.Message, "exporter has failed and is started again: [\"sh\" \"-c\" ") {
		t.Errorf("log: %v", e)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	checkEnds(t, second[0])
	checkEnds(t, second[1])
}

func TestCommandThatDoesNotEndIsKilled(t *testing.T) {
	g, _ := newTestGroup()
	out, said := lines()
	c := Command{Name: "deaf", Argv: []string{"sh", "-c",
		"trap '' TERM; echo $$; while :; do sleep 1; done"}, Out: out}
	ctx, stop := context.WithCancel(t.Context())
	done := run(ctx, g, func() {}, c.Part(logrus.New()))
	pid := next(t, said)
	stop()
	<-done
	checkEnds(t, pid)
}

// TestCommandEndsWhenTheDaemonIsKilled runs a daemon with a program in a process of its own.
func TestCommandEndsWhenTheDaemonIsKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux ties programs to their daemon")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BRINE_TEST_COMMAND=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	checkEnds(t, strings.TrimSpace(pid))
}

// testCommand is a daemon that runs one program and tells its number.
func testCommand() int {
	g, _ := newTestGroup()
	c := Command{Name: "program", Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"},
		Out: func(line []byte) { os.Stdout.Write(append(line, '\n')) }}
	_ = g.Run(context.Background(), func() {}, c.Part(logrus.New()))
	return 0
}

func TestCommandLogsWhatItPrints(t *testing.T) {
	log, hook := test.NewNullLogger()
	c := Command{Name: "exporter",
		Argv: []string{"sh", "-c", "echo out; echo err >&2; head -c 200000 /dev/zero | tr '\\0' x; echo; exit 3"}}
	err := c.Part(log).Run(t.Context(), func() {})
	if err == nil || !strings.Contains(err.Error(), "]: exit status 3; it said last: xxx") ||
		len(err.Error()) > 500 {
		t.Errorf("err = %v", err)
	}
	var said []string
	for _, e := range hook.AllEntries() {
		said = append(said, e.Message)
		if len(e.Message) > maxLine+20 {
			t.Errorf("a line of %d bytes", len(e.Message))
		}
	}
	if len(said) < 5 || said[0] != "exporter: out" || said[1] != "exporter: err" {
		t.Errorf("log: %.100q", said)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	c := Command{Name: "exporter", Argv: []string{filepath.Join(t.TempDir(), "none")}}
	if err := c.Part(logrus.New()).Run(t.Context(), func() {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
}

func TestFolderModes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		private bool
		mode    os.FileMode // before; 0 is missing
		want    os.FileMode
	}{
		{"made", false, 0, 0o755},
		{"left as it is", false, 0o777, 0o777},
		{"private made", true, 0, 0o700},
		{"private closed", true, 0o755, 0o700},
		{"private for a group", true, 0o750, 0o750},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Folder{Option: "pki_dir", Path: filepath.Join(t.TempDir(), "a", "b"), Private: tt.private}
			if tt.mode != 0 {
				if err := errors.Join(os.MkdirAll(f.Path, 0o755), os.Chmod(f.Path, tt.mode)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := f.prepare(Account{}, false); err != nil {
					t.Fatal(err)
				}
			}
			info, err := os.Stat(f.Path)
			if err != nil || info.Mode().Perm() != tt.want {
				t.Errorf("mode %v %v, want %v", info.Mode(), err, tt.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Folder{Option: "sock_dir", Path: filepath.Join(file, "sub")}).prepare(Account{},
		false); err == nil || !strings.HasPrefix(err.Error(), "sock_dir: ") {
		t.Errorf("a file in the way: err = %v, want one that names the option", err)
	}
}

func TestPermissiveLeavesFilesOfAGroupOfTheUser(t *testing.T) {
	need.Root(t, "to change owners")
	dir := t.TempDir()
	file := filepath.Join(dir, "shared")
	if err := errors.Join(os.WriteFile(file, nil, 0o640), os.Chown(file, 0, 54321),
		os.Chown(dir, 0, 54321)); err != nil {
		t.Fatal(err)
	}
	who := Account{Name: "salt", UID: 12345, GID: 12345, Other: true, groups: []int{12345, 54321}}
	owner := func() uint32 {
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	if err := (Folder{Option: "pki_dir", Path: dir}).prepare(who, true); err != nil || owner() != 0 {
		t.Errorf("permissive: owner %d %v, want 0", owner(), err)
	}
	if err := (Folder{Option: "pki_dir", Path: dir}).prepare(who, false); err != nil || owner() != 12345 {
		t.Errorf("owner %d %v, want 12345", owner(), err)
	}
}

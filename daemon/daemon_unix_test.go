//go:build unix

package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/test/need"
)

// TestMain lets the test binary be the daemon of these tests.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BRINE_TEST_DAEMON"); dir != "" {
		os.Exit(testDaemon(dir))
	}
	if os.Getenv("BRINE_TEST_COMMAND") != "" {
		os.Exit(testCommand())
	}
	os.Exit(m.Run())
}

var errTest = errors.New("the ports are taken")

// testDaemon is a daemon that writes down what happens to it in the file said, a line each.
func testDaemon(dir string) int {
	log := logrus.New()
	log.SetOutput(os.Stderr)
	file, err := os.OpenFile(filepath.Join(dir, "said"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return 99
	}
	r := &testRole{dir: dir, said: file}
	d := &Daemon{Name: "test-daemon", Background: os.Getenv("BRINE_TEST_DETACH") != "",
		User: os.Getenv("BRINE_TEST_USER"),
		Folders: []Folder{{Option: "cachedir", Path: dir},
			{Option: "pki_dir", Path: filepath.Join(dir, "pki"), Private: true}},
		PIDFile: cmp.Or(os.Getenv("BRINE_TEST_PIDFILE"), filepath.Join(dir, "pid")),
		Codes:   []ExitCode{{errTest, 4}, {ErrNoUser, 67}}, Log: log,
		Reopen:     func() error { r.say("reopened"); return nil },
		WatchEvery: func() time.Duration { return 10 * time.Millisecond },
		Watch:      func() []string { return []string{filepath.Join(dir, "conf")} },
		Stderr:     os.Stderr,
	}
	d.Start = func(ctx context.Context, settle func() error) (Role, error) {
		if gate := os.Getenv("BRINE_TEST_GATE"); gate != "" {
			r.say("starting")
			if _, err := os.ReadFile(gate); err != nil {
				return nil, err
			}
		}
		if os.Getenv("BRINE_TEST_SLOW") != "" {
			r.say("starting")
			<-ctx.Done()
			return nil, errors.New("no database any more")
		}
		if os.Getenv("BRINE_TEST_TAKEN") != "" {
			return nil, fmt.Errorf("bind: %w", errTest)
		}
		if err := settle(); err != nil {
			return nil, err
		}
		return r, nil
	}
	return d.Serve(context.Background())
}

type testRole struct {
	dir  string
	said io.Writer
}

func (r *testRole) say(format string, args ...any) { fmt.Fprintf(r.said, format+"\n", args...) }

func (r *testRole) Run(ctx context.Context, ready func()) error {
	status, _ := os.ReadFile("/proc/self/status")
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	r.say("%sumask %03o\nleft %s", status, umask, os.Getenv(background))
	ready()
	r.say("ready")
	<-ctx.Done()
	r.say("stopping")
	if os.Getenv("BRINE_TEST_HANG") != "" {
		select {}
	}
	return nil
}

func (r *testRole) Reload(ctx context.Context) error {
	text, _ := os.ReadFile(filepath.Join(r.dir, "conf"))
	r.say("reloaded %s", text)
	switch os.Getenv("BRINE_TEST_RELOAD") {
	case "hang":
		<-ctx.Done()
	case "panic":
		panic("out of range")
	}
	if string(text) == "broken" {
		return errors.New("conf:1: broken")
	}
	return nil
}

func (r *testRole) Status() string { return "all is well" }
func (r *testRole) Dump() string   { return "queue: 3 of 10\n" }

// A subject is a daemon under test, a process of its own.
type subject struct {
	*testing.T
	dir string
	cmd *exec.Cmd
	err *syncBuffer
}

// start starts the test daemon in dir.
func start(t *testing.T, dir string, env ...string) *subject {
	t.Helper()
	s := &subject{T: t, dir: dir, cmd: exec.Command(os.Args[0]), err: &syncBuffer{}}
	s.cmd.Env = append(append(os.Environ(), "BRINE_TEST_DAEMON="+dir), env...)
	s.cmd.Stderr = s.err
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// said waits until the daemon has written text down.
func (s *subject) said(text string) string {
	s.Helper()
	return s.await(text, func() string { b, _ := os.ReadFile(filepath.Join(s.dir, "said")); return string(b) })
}

// logged waits until the daemon has logged text.
func (s *subject) logged(text string) string { s.Helper(); return s.await(text, s.err.String) }

func (s *subject) await(text string, read func() string) string {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := read()
		if strings.Contains(got, text) {
			return got
		}
		if time.Now().After(end) {
			s.Fatalf("no %q in\n%s\nlog:\n%s", text, got, s.err.String())
		}
	}
}

func (s *subject) signal(sig os.Signal) {
	s.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.Fatal(err)
	}
}

// ended waits for the end and returns the exit code.
func (s *subject) ended() int {
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name string
		sig  os.Signal
		said string
		logs string
	}{
		{"HUP reloads", syscall.SIGHUP, "reloaded", "received SIGHUP"},
		{"HUP opens logs anew", syscall.SIGHUP, "reopened", ""},
		{"USR1 dumps state and goroutines", syscall.SIGUSR1, "", "queue: 3 of 10"},
		{"USR1 shows goroutines", syscall.SIGUSR1, "", "(*testRole).Run"},
		{"USR2 opens logs anew", syscall.SIGUSR2, "reopened", ""},
		{"TERM stops", syscall.SIGTERM, "stopping", "received SIGTERM"},
		{"INT stops", syscall.SIGINT, "stopping", "received SIGINT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			s.said("ready\n")
			s.signal(tt.sig)
			s.said(tt.said)
			s.logged(tt.logs)
			if tt.sig != syscall.SIGTERM && tt.sig != syscall.SIGINT {
				s.signal(syscall.SIGTERM)
			}
			if code := s.ended(); code != 0 {
				t.Errorf("exit code %d, want 0: %s", code, s.err)
			}
			if _, err := os.Lstat(filepath.Join(s.dir, "pid")); err == nil {
				t.Error("the pid file is left")
			}
		})
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_HANG=1")
	s.said("ready\n")
	s.signal(syscall.SIGTERM)
	s.said("stopping\n")
	s.signal(syscall.SIGTERM) // at once it is the same one
	time.Sleep(oneSignal)
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	s.logged("a second SIGTERM; ending at once")
}

func TestSignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	s := start(t, t.TempDir())
	s.said("ready\n")
	for range 3 {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // it may have ended
	}
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, s.err)
	}
}

func TestReloadThatHangsKeepsNoSignalWaiting(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_RELOAD=hang")
	s.said("ready\n")
	s.signal(syscall.SIGHUP)
	s.said("reloaded")
	s.signal(syscall.SIGUSR1)
	s.logged("queue: 3 of 10")
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, s.err)
	}
}

func TestReloadThatPanicsIsToldAndNoMore(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_RELOAD=panic")
	s.said("ready\n")
	s.signal(syscall.SIGHUP)
	s.logged("the old one stays in force: panic: out of range")
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, s.err)
	}
}

func TestReloadAskedForDuringTheStartIsDoneAfterIt(t *testing.T) {
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir, "BRINE_TEST_GATE="+gate)
	s.said("starting\n")
	s.signal(syscall.SIGHUP)
	s.logged("received SIGHUP")
	if err := os.WriteFile(gate, []byte("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.said("reloaded")
	s.signal(syscall.SIGTERM)
	s.ended()
}

func TestSignalDuringTheStartIsNoFailure(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_SLOW=1")
	s.said("starting\n")
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, s.err)
	}
}

func TestChangedFileReloads(t *testing.T) {
	s := start(t, t.TempDir())
	s.said("ready\n")
	conf := filepath.Join(s.dir, "conf")
	if err := os.WriteFile(conf, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.said("reloaded new")
	if err := os.WriteFile(conf, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.logged("the old one stays in force: conf:1: broken")
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestPIDFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pid")
	// of a process that lives and is none of ours
	if err := os.WriteFile(file, []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	first := start(t, dir)
	first.said("ready\n")
	text, err := os.ReadFile(file)
	if err != nil || string(text) != strconv.Itoa(first.cmd.Process.Pid) {
		t.Errorf("pid file: %q %v, want %d", text, err, first.cmd.Process.Pid)
	}
	second := start(t, dir)
	if code := second.ended(); code != 1 {
		t.Errorf("second start: exit code %d, want 1", code)
	}
	second.logged(fmt.Sprintf("already running: process %d holds %s", first.cmd.Process.Pid, file))
	first.signal(syscall.SIGKILL)
	first.ended()
	if err := os.Remove(filepath.Join(dir, "said")); err != nil {
		t.Fatal(err)
	}
	third := start(t, dir)
	third.said("ready\n")
	third.signal(syscall.SIGTERM)
	if code := third.ended(); code != 0 {
		t.Errorf("start after a kill: exit code %d: %s", code, third.err)
	}
}

func TestStartFailures(t *testing.T) {
	for _, tt := range []struct {
		name, env, want string
		code            int
	}{
		{"ports taken", "BRINE_TEST_TAKEN=1", "bind: the ports are taken", 4},
		{"no such user", "BRINE_TEST_USER=nosuchuser", `user "nosuchuser": there is no such user`, 67},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, dir, tt.env)
			if code := s.ended(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			s.logged(tt.want)
			for _, left := range []string{"pid", "pki"} {
				if _, err := os.Lstat(filepath.Join(dir, left)); err == nil {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}

func TestBackground(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_DETACH=1")
	if code := s.ended(); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.err)
	}
	s.said("left \n")
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || pid == s.cmd.Process.Pid {
		t.Fatalf("pid %q of the first process: %v", text, err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if stderr, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", pid)); stderr != "/dev/null" && stderr != "" {
		t.Errorf("standard error is %s", stderr)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	s.said("stopping\n")
}

func TestBackgroundTellsWhyItFails(t *testing.T) {
	s := start(t, t.TempDir(), "BRINE_TEST_DETACH=1", "BRINE_TEST_TAKEN=1")
	if code := s.ended(); code != 4 {
		t.Errorf("exit code %d, want that of the daemon, 4", code)
	}
	s.logged("the ports are taken")
}

func TestUmaskIsNeverOpen(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	s := start(t, t.TempDir())
	s.said("umask 022")
	s.signal(syscall.SIGTERM)
	s.ended()
}

func TestServiceManagerIsTold(t *testing.T) {
	dir := t.TempDir()
	conn, err := net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := start(t, dir, "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "WATCHDOG_USEC=40000")
	told := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // the watchdog's messages do not end
		for {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %q: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
	}
	told("READY=1\nSTATUS=all is well")
	told("WATCHDOG=1")
	s.signal(syscall.SIGHUP)
	told("RELOADING=1\nMONOTONIC_USEC=")
	told("READY=1")
	s.signal(syscall.SIGTERM)
	told("STOPPING=1")
	s.ended()
}

// TestCVE2013_6617 starts a daemon as root with another user: nothing of the rights of root is
// left, groups included.
func TestCVE2013_6617(t *testing.T) {
	need.Root(t, "to become another user")
	dir, err := os.MkdirTemp("", "daemon")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "of root"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(t.TempDir(), "pid") // outside of what is given
	s := start(t, dir, "BRINE_TEST_USER=nobody", "BRINE_TEST_PIDFILE="+pid)
	seen := s.said("ready\n")
	who, err := LookUp("nobody")
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, gid := range slices.Sorted(slices.Values(who.groups)) {
		groups = append(groups, strconv.Itoa(gid))
	}
	for line := range strings.Lines(seen) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Uid:") &&
			strings.Contains(line, "\t0"), strings.HasPrefix(line, "Gid:") && strings.Contains(line, "\t0"),
			strings.HasPrefix(line, "Groups:") && !slices.Equal(fields[1:], groups),
			strings.HasPrefix(line, "Cap") && !strings.HasPrefix(line, "CapBnd") &&
				strings.Trim(fields[1], "0") != "":
			t.Errorf("as user %d the daemon has %s", who.UID, line)
		}
	}
	for _, want := range []struct {
		name  string
		owner int
		mode  os.FileMode
	}{{filepath.Join(dir, "of root"), who.UID, 0o600},
		{filepath.Join(dir, "pki"), who.UID, os.ModeDir | 0o700}, {pid, 0, 0o644}} {
		info, err := os.Lstat(want.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != want.owner || info.Mode() != want.mode {
			t.Errorf("%s: owner %d mode %v, want %d and %v", want.name, owner, info.Mode(),
				want.owner, want.mode)
		}
	}
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.err)
	}
	if text, err := os.ReadFile(pid); err != nil || len(text) != 0 {
		t.Errorf("the pid file that only root can remove says %q %v", text, err)
	}
}

func TestDaemonOutlivesItsConsole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BRINE_TEST_DAEMON="+dir)
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	s := &subject{T: t, dir: dir, cmd: cmd, err: &syncBuffer{}}
	s.said("ready\n")
	r.Close()
	s.signal(syscall.SIGUSR1) // which it logs
	s.signal(syscall.SIGHUP)
	s.said("reloaded")
	s.signal(syscall.SIGTERM)
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

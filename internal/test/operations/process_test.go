//go:build linux

package operations

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limit is the timeout of anything that a script waits for.
const limit = 30 * time.Second

// until polls done until it returns true, and reports whether it did in time.
func until(done func() bool) bool {
	for by := time.Now().Add(limit); ; {
		if done() {
			return true
		}
		if time.Now().After(by) {
			return false
		}
		pause := time.NewTimer(10 * time.Millisecond)
		<-pause.C
	}
}

// A lines collects the output of a program. Several goroutines may use it.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// brief returns the part shown with a failure.
func (l *lines) brief() string {
	const most = 3000
	s := l.String()
	if len(s) > most {
		return s[:most/2] + "\n...\n" + s[len(s)-most/2:]
	}
	return s
}

// A process is a daemon that a script has started.
type process struct {
	cmd   *exec.Cmd
	said  lines // on standard output and error
	told  lines // to the service manager, a message a line
	pid   int   // of the daemon
	ended chan struct{}
	seen  int // how many of the messages READY=1 a script has waited for
}

// startProcess starts a daemon with this test as its service manager.
func startProcess(
	name string, argv []string, dir string, env []string, as *syscall.Credential,
) (*process, error) {
	p := &process{ended: make(chan struct{})}
	socket := filepath.Join(dir, name+".notify")
	if err := os.RemoveAll(socket); err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o777); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p.cmd = &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: append(env, "NOTIFY_SOCKET="+socket),
		Stdout: &p.said, Stderr: &p.said, SysProcAttr: &syscall.SysProcAttr{Credential: as,
			Setpgid: true}, WaitDelay: time.Second}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p.pid = p.cmd.Process.Pid
	go p.hear(conn)
	go func() {
		_ = p.cmd.Wait() // its state is looked at
		close(p.ended)
	}()
	return p, nil
}

// hear records the daemon's messages to the service manager until kill closes the socket.
func (p *process) hear(conn *net.UnixConn) {
	go func() {
		<-p.ended
		_ = conn.SetReadDeadline(time.Now().Add(limit)) // a daemon in the background goes on
	}()
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		fmt.Fprintf(&p.told, "%s\n", strings.ReplaceAll(string(buf[:n]), "\n", " "))
	}
}

// ready waits until the daemon has reported that it is ready once more since the last call. It
// returns false if the daemon has ended.
func (p *process) ready() bool {
	p.seen++
	ok := false
	until(func() bool {
		ok = strings.Count(p.told.String(), "READY=1") >= p.seen
		return ok || p.hasEnded()
	})
	return ok
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the process and its children by force.
func (p *process) kill() {
	_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

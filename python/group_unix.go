//go:build unix

package python

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/program"
)

// startGroup starts a program as the head of a process group.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// killGroup kills the processes of a group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// killProcess kills one process.
func killProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// ending returns how a process ended, from the code and status of waitid; "" if it has not.
func ending(code, status byte) string {
	switch code {
	case 1: // CLD_EXITED
		return fmt.Sprintf("exit status %d", status)
	case 2, 3: // CLD_KILLED, CLD_DUMPED
		return "signal: " + syscall.Signal(status).String()
	}
	return ""
}

// socketPair returns two connected sockets that programs do not inherit.
func socketPair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "python"), os.NewFile(uintptr(fds[1]), "python"), nil
}

// hungUp reports whether the other end of a socket is closed.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	var polled [1]unix.PollFd
	err = raw.Control(func(fd uintptr) {
		polled[0].Fd = int32(fd)
		_, _ = unix.Poll(polled[:], 0)
	})
	return err != nil || polled[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// startBound starts a program as startGroup does. It is killed when this process ends, however that
// ends, where the system can do that. ended is closed when the program has ended.
func startBound(cmd *exec.Cmd) (ended chan struct{}, err error) {
	ended = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the program is bound to the thread that starts it
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		bind(cmd.SysProcAttr)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}

// useDirectory makes a directory that only its owner may write to and locks it until the returned
// value is closed, or the process ends.
func useDirectory(dir string) (io.Closer, error) {
	for range 10 { // another process may remove it meanwhile
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || info.Mode()&0o022 != 0 ||
			int(owner) != os.Geteuid() {
			return nil, fmt.Errorf("%s has mode %s and owner %d, so that other users can change it", dir,
				info.Mode(), owner)
		}
		if err := program.Trusted(filepath.Dir(dir)); err != nil {
			return nil, err
		}
		lock, err := lockDirectory(dir, unix.LOCK_SH)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("other processes keep removing %s", dir)
}

// lockDirectory returns the locked file lock of a directory.
func lockDirectory(dir string, how int) (*os.File, error) {
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	locked, err := f.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Stat(name); err == nil && !os.SameFile(locked, now) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeUnused removes a directory that no process has locked.
func removeUnused(dir string) {
	lock, err := lockDirectory(dir, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return
	}
	_ = os.RemoveAll(dir)
	_ = lock.Close()
}

// rights returns the control message that sends a file descriptor over a socket.
func rights(fd int) []byte { return syscall.UnixRights(fd) }

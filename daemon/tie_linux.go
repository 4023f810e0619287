package daemon

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tie makes the kernel kill a program when the thread that starts it ends.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// finish waits for the end of a program and ends what it has left, before its status is read: until then its number is
// nobody else's.
func finish(cmd *exec.Cmd) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = signalGroup(cmd, syscall.SIGKILL) // nothing left is the usual case
	return cmd.Wait()
}

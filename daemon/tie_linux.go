package daemon

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tie makes the kernel kill a program when the thread that started it ends.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// finish waits for the end of a program and kills its remaining children before its status is
// collected: until then its process id cannot be reused.
func finish(cmd *exec.Cmd) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil),
		unix.EINTR) {
	}
	_ = signalGroup(cmd, syscall.SIGKILL) // usually nothing is left
	return cmd.Wait()
}

//go:build unix

package daemon

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// runTied runs cmd in its own process group, which ends with it, and ties it to this process with
// tie. It locks the thread until the program ends, since the kernel kills a tied program when the
// thread that started it ends.
func runTied(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tie(cmd.SysProcAttr)
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	return finish(cmd)
}

// signalGroup signals the program and its child processes.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

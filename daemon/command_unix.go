//go:build unix

package daemon

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// runTied runs cmd as the head of a process group of its own, which is ended with it, and tied to this process as tie can.
// The thread is held until the program has ended, since the kernel ends what is tied with the thread that started it.
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

// signalGroup signals the program and all that it started.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

//go:build unix && !linux

package daemon

import (
	"os/exec"
	"syscall"
)

// tie does nothing: only Linux can.
func tie(*syscall.SysProcAttr) {}

// finish waits for the end of a program and ends what it has left.
func finish(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = signalGroup(cmd, syscall.SIGKILL) // nothing left is the usual case
	return err
}

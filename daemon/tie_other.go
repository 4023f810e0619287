//go:build unix && !linux

package daemon

import (
	"os/exec"
	"syscall"
)

// tie does nothing: only Linux supports it.
func tie(*syscall.SysProcAttr) {}

// finish waits for the end of a program and kills its remaining children.
func finish(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = signalGroup(cmd, syscall.SIGKILL) // usually nothing is left
	return err
}

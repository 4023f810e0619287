//go:build unix

package saltutil

import (
	"errors"
	"syscall"
)

const sigkill = syscall.SIGKILL

// exists reports whether there is a process with this id.
func exists(pid int64) bool {
	err := syscall.Kill(int(pid), 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// signalProcess sends a signal to one process.
func signalProcess(pid int64, sig syscall.Signal) error { return syscall.Kill(int(pid), sig) }

// ends reports whether a signal ends a job. Salt's processes use the user signals for reports about
// themselves.
func ends(sig syscall.Signal) bool {
	switch sig {
	case 0, syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN,
		syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGUSR1, syscall.SIGUSR2:
		return false
	}
	return true
}

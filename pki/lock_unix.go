//go:build unix

package pki

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errLocked = syscall.EWOULDBLOCK

// lock locks a file until it is closed. It does nothing on file systems without locks.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

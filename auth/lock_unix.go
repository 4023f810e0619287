//go:build unix

package auth

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFolder locks a directory until it is closed, and waits for others who hold the lock. It does nothing on
// file systems without locks.
func lockFolder(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch {
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS):
			return nil
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

//go:build unix

package auth

import (
	"errors"
	"os"

	sys "golang.org/x/sys/unix"
)

// lockFolder locks a directory until it is closed, and waits for others who hold the lock. It does nothing on
// file systems without locks.
func lockFolder(f *os.File) error {
	for {
		err := sys.Flock(int(f.Fd()), sys.LOCK_EX)
		switch {
		case errors.Is(err, sys.ENOTSUP), errors.Is(err, sys.ENOSYS):
			return nil
		case !errors.Is(err, sys.EINTR):
			return err
		}
	}
}

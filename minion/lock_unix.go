//go:build unix

package minion

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// tryLock takes a lock file for this process. free is nil where another one holds it. The lock ends with the process,
// however that ends.
func tryLock(file string) (free func() error, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock cachedir: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	case err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS):
		return nil, errors.Join(fmt.Errorf("lock cachedir: %s: %w", file, err), f.Close())
	}
	return f.Close, nil
}

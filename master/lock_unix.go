//go:build unix

package master

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder takes a cachedir for this process. The lock ends with the process, however that ends.
func lockFolder(dir string) (free func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".master_lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock cachedir: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("cachedir %s: %w", dir, ErrRunning), f.Close())
	case err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS):
		return nil, errors.Join(fmt.Errorf("lock cachedir %s: %w", dir, err), f.Close())
	}
	return f.Close, nil
}

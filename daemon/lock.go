package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked is wrapped by LockFile if another process holds the lock.
var ErrLocked = errors.New("another process holds the lock")

// forkTime is how long a lock may outlive its process: a forked child that has not executed another
// program yet still holds its parent's locks.
const forkTime = time.Second

const lockPause = 5 * time.Millisecond

// LockFile locks a file until free is called or the process ends. The file is created if needed and
// stays. If the lock is held, it waits for a second, since the lock of a process that was just
// killed may not be released yet.
func LockFile(path string) (free func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := await(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f.Close, nil
}

// await locks a file. It gives up after forkTime.
func await(f *os.File) error {
	for by := time.Now().Add(forkTime); ; time.Sleep(lockPause) {
		err := lock(f)
		if !errors.Is(err, errLocked) {
			return err
		}
		if time.Now().After(by) {
			return ErrLocked
		}
	}
}

// Locked reports whether the lock of a file is held by another process or another part of this one.
// A missing file is not locked.
func Locked(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	if err = lock(f); errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", path, err)
	}
	return false, nil
}

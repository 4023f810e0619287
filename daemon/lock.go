package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked is wrapped by LockFile when another process holds the lock.
var ErrLocked = errors.New("another process holds the lock")

// forkTime is how long a lock may outlive its process: a child that was forked and has not yet become another program holds
// what its parent held.
const forkTime = time.Second

const lockPause = 5 * time.Millisecond

// LockFile takes the lock of a file, which is made where it is missing and stays, until free is called or the process ends,
// however that ends. A lock that is held is waited for a second, since that of a process that was just killed may still be.
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

// await takes the lock of a file, and gives up after forkTime.
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

// Locked reports whether another process, or another part of this one, holds the lock of a file. A file that is missing
// is not locked.
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

package daemon

import (
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

var errLocked = windows.ERROR_LOCK_VIOLATION

// lock locks a byte far beyond the text, so that others can read the file.
func lock(f *os.File) error {
	at := &windows.Overlapped{Offset: 1 << 20}
	return windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
}

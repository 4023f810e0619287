//go:build unix && !linux

package daemon

import (
	"os"

	"golang.org/x/sys/unix"
)

// passing opens a directory only for traversal, and pinning a file only to change its owner.
const (
	passing = unix.O_RDONLY
	pinning = unix.O_RDONLY | unix.O_NONBLOCK
)

// chown changes the owner of a file opened with pinning.
func chown(f *os.File, who Account) error { return unix.Fchown(int(f.Fd()), who.UID, who.GID) }

//go:build unix && !linux

package file

import (
	"io/fs"
	"syscall"
)

// processUmask returns the mask of this process. The system tells it only to who sets it.
func processUmask() fs.FileMode {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}

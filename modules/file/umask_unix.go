//go:build unix && !linux

package file

import (
	"io/fs"
	"syscall"
)

// processUmask returns the umask of this process. The system returns it only when it is set.
func processUmask() fs.FileMode {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}

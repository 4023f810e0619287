//go:build unix

package master

import "syscall"

// fileLimits returns the soft and hard limit on open files of this process, or 0 if they are
// unknown.
func fileLimits() (soft, hard uint64) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, 0
	}
	return uint64(l.Cur), uint64(l.Max)
}

//go:build unix

package master

import "syscall"

// fileLimits returns how many files this process may have open, and how many it could allow itself.
func fileLimits() (soft, hard uint64) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, 0
	}
	return uint64(l.Cur), uint64(l.Max)
}

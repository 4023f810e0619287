package zypperpkg

import (
	"io/fs"
	"syscall"
)

// changedAt returns the time of the last change of a file's contents or attributes, in seconds
// since 1970.
func changedAt(s fs.FileInfo) int64 {
	if sys, ok := s.Sys().(*syscall.Stat_t); ok {
		return int64(sys.Ctim.Sec)
	}
	return s.ModTime().Unix()
}

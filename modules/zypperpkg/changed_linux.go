package zypperpkg

import (
	"io/fs"
	"syscall"
)

// changedAt returns when a file was last given another content or other attributes.
func changedAt(s fs.FileInfo) int64 {
	if sys, ok := s.Sys().(*syscall.Stat_t); ok {
		return int64(sys.Ctim.Sec)
	}
	return s.ModTime().Unix()
}

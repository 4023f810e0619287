package stamp

import (
	"io/fs"
	"syscall"
)

// inodeOf returns the number of a file, and when its inode changed.
func inodeOf(info fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino, st.Ctim.Nano()
	}
	return 0, 0
}

package aptpkg

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when a file was last changed, including its owner and mode.
func changed(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec)) //nolint:unconvert // 32 bits on some
	}
	return info.ModTime()
}

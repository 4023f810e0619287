package pki

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns the time of a file's last change of any kind, including to its times and mode
// (ctime). Users cannot set it back.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

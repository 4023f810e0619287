package pki

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when a file was last changed in any way, its times and rights included; nobody can set that back.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

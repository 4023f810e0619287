//go:build unix

package ssh

import (
	"io/fs"
	"syscall"
)

// owns reports whether a file belongs to the user.
func (o owner) owns(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == o.uid
}

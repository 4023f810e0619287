//go:build unix

package minion

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a directory entry belongs to the user of this process. Files of other users
// must not decide which processes root signals.
func isOwn(e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

//go:build unix

package minion

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether an entry of a directory belongs to the user of this process: what another user has put there must not say
// whom root signals.
func isOwn(e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

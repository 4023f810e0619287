package render

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// identity returns the time of the last change of any kind, and the file's location on the disk.
// Unlike the modification time, these cannot be reset.
func identity(st os.FileInfo) (time.Time, string) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return st.ModTime(), ""
	}
	return time.Unix(sys.Ctim.Unix()), fmt.Sprintf("%x.%x", sys.Dev, sys.Ino)
}

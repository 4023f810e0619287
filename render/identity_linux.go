package render

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// identity returns when a file was last changed in any way, and where it lies on the disk: who puts back a time of modification cannot
// put back these.
func identity(st os.FileInfo) (time.Time, string) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return st.ModTime(), ""
	}
	return time.Unix(sys.Ctim.Unix()), fmt.Sprintf("%x.%x", sys.Dev, sys.Ino)
}

//go:build darwin || freebsd || netbsd

package disk

import (
	"syscall"
	"time"
)

func timesOf(st *syscall.Stat_t) (atime, ctime time.Time) {
	return time.Unix(st.Atimespec.Unix()), time.Unix(st.Ctimespec.Unix())
}

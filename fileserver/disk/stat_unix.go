//go:build linux || darwin || freebsd || netbsd || openbsd

package disk

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/brineproject/brine/fileserver"
)

// An Identity stays the same as long as a file is not changed.
type Identity struct {
	device, inode, size int64
	mtime, ctime        time.Time
}

// Identify returns the identity of a file, to detect later changes.
func Identify(info os.FileInfo) Identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{size: info.Size(), mtime: info.ModTime()}
	}
	_, ctime := timesOf(st)
	return Identity{int64(st.Dev), int64(st.Ino), info.Size(), info.ModTime(), ctime} //nolint:unconvert // differs by system
}

// version returns a name for the content of a file, or "" while the content may change without a
// visible trace.
func version(_ Place, info os.FileInfo, now time.Time) string {
	id := Identify(info)
	if !Settled(now, id.mtime, id.ctime) {
		return ""
	}
	b := make([]byte, 0, 80)
	for _, n := range []int64{id.device, id.inode, id.size, id.mtime.UnixNano(),
		id.ctime.UnixNano()} {
		b = append(strconv.AppendInt(b, n, 36), ':')
	}
	return string(b)
}

func statOf(info os.FileInfo) *fileserver.Stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	atime, ctime := timesOf(st)
	return &fileserver.Stat{Mode: uint32(st.Mode), Inode: uint64(st.Ino), Device: uint64(st.Dev), Links: uint64(st.Nlink), UID: st.Uid, GID: st.Gid, //nolint:unconvert // differs by system
		Size: info.Size(), Atime: atime.Unix(), Mtime: info.ModTime().Unix(), Ctime: ctime.Unix()}
}

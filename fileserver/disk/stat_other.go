//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package disk

import (
	"os"
	"strconv"
	"time"

	"github.com/brineproject/brine/fileserver"
)

// An Identity stays the same as long as a file is not changed.
type Identity struct {
	size  int64
	mtime time.Time
}

// Identify returns the identity of a file, to detect later changes.
func Identify(info os.FileInfo) Identity { return Identity{info.Size(), info.ModTime()} }

// version returns a name for the content of a file, or "" while the content may change without a
// visible trace.
func version(p Place, info os.FileInfo, now time.Time) string {
	if !Settled(now, info.ModTime()) {
		return ""
	}
	return p.Root + "|" + p.Name + "|" + strconv.FormatInt(info.Size(), 36) + ":" +
		strconv.FormatInt(info.ModTime().UnixNano(), 36)
}

func statOf(info os.FileInfo) *fileserver.Stat {
	t := info.ModTime().Unix()
	return &fileserver.Stat{Mode: 0o100000 | uint32(info.Mode().Perm()), Size: info.Size(),
		Atime: t, Mtime: t, Ctime: t}
}

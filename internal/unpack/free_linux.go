package unpack

import (
	"math"

	"golang.org/x/sys/unix"
)

// freeBytes returns the free bytes of a directory's file system.
func freeBytes(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Bsize <= 0 {
		return 0, false
	}
	size := int64(st.Bsize) //nolint:unconvert // types differ by architecture
	if st.Bavail > uint64(math.MaxInt64/size) {
		return 0, false
	}
	return int64(st.Bavail) * size, true
}

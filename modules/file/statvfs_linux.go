package file

import (
	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
)

// validFlags is set by the kernel to mark valid flags; programs must not see it.
const validFlags = 0x20

// volume returns the metadata of the file system of a path, by the names of Python's os.statvfs.
func volume(path string) (*data.Map, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return nil, err
	}
	return data.NewMap("f_bavail", int64(st.Bavail), "f_bfree", int64(st.Bfree),
		"f_blocks", int64(st.Blocks), "f_bsize", int64(st.Bsize), "f_favail", int64(st.Ffree),
		"f_ffree", int64(st.Ffree), "f_files", int64(st.Files), "f_flag",
		int64(st.Flags)&^validFlags, "f_frsize", int64(st.Frsize), "f_namemax",
		int64(st.Namelen)), nil
}

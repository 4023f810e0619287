//go:build unix

package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// withoutWaiting is a flag to open pipes without a wait for their other end.
const withoutWaiting = syscall.O_NONBLOCK

// keepAs copies owners, mode and attributes of the file at dest to the file that will replace it.
func keepAs(f *os.File, dest string, info fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	own, _ := now.Sys().(*syscall.Stat_t)
	if known && (own.Uid != st.Uid || own.Gid != st.Gid) {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := f.Chmod(info.Mode()); err != nil {
		return err
	}
	return copyAttributes(f, dest)
}

// othersMayPlant reports whether users other than root and the minion's own may create names beside
// path.
func othersMayPlant(path string) bool {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return true
	}
	st, ok := dir.Sys().(*syscall.Stat_t)
	return !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || dir.Mode()&0o022 != 0
}

// removeDir removes an empty directory, and fails for anything else.
func removeDir(path string) error {
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// notThere returns the result of file.remove for a path that does not exist.
func notThere(string) (any, error) { return false, nil }

// removeAll removes a file or link, or a directory with its content.
func removeAll(path string) error { return os.RemoveAll(path) }

// removeAll removes what the name stands for.
func (s *spot) removeAll() error { return s.RemoveAll(s.name) }

//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwners copies the owner and group of another file to f.
func keepOwners(f *os.File, old fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, known := old.Sys().(*syscall.Stat_t)
	own, _ := now.Sys().(*syscall.Stat_t)
	if !known || own.Uid == was.Uid && own.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

//go:build unix

package program

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Trusted returns an error unless only root and the user of this process can change what lies at a
// path. Each directory above it counts as well, but of one with the sticky bit, such as /tmp, others
// cannot replace what is not theirs.
func Trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	for above := false; ; above = true {
		if err := trusted(path, above); err != nil {
			return err
		}
		next := filepath.Dir(path)
		if next == path {
			return nil
		}
		path = next
	}
}

// trusted checks one path; above reports whether it is a directory above the one in question.
func trusted(path string, above bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if stat.Uid != 0 && stat.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to the user with the id %d, who could change the code", path, stat.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 && (!above || info.Mode()&fs.ModeSticky == 0) {
		return fmt.Errorf("%s has mode %04o: other users could change the code", path, stat.Mode&0o7777)
	}
	return nil
}

package jobstore

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system of this size in bytes.
func mountSmall(dir string, size int) (unmount func() error, err error) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		return nil, err
	}
	return func() error { return unix.Unmount(dir, 0) }, nil
}

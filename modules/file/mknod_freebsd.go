package file

import "golang.org/x/sys/unix"

func mknod(name string, mode, major, minor uint32) error {
	return unix.Mknod(name, mode, unix.Mkdev(major, minor))
}

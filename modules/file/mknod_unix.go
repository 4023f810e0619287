//go:build unix && !freebsd

package file

import "golang.org/x/sys/unix"

func mknod(name string, mode, major, minor uint32) error {
	return unix.Mknod(name, mode, int(unix.Mkdev(major, minor)))
}

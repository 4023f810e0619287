//go:build unix

package file

import "golang.org/x/sys/unix"

// may reports whether this process has a permission for a file.
func may(path string, want permission) bool { return unix.Access(path, uint32(want)) == nil }

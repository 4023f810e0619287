// Package paths answers what a path is, as Python's os.path does: what cannot be looked at is not there.
package paths

import (
	"io/fs"
	"os"
)

// IsFile reports whether path is a regular file, or a link to one.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsDir reports whether path is a directory, or a link to one.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsLink reports whether path is a symbolic link, wherever it leads.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Exists reports whether there is something at path. A link that leads nowhere does not count.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LinkExists reports whether there is something at path, a link that leads nowhere included (os.path.lexists).
func LinkExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Package paths checks the kind of a path as Python's os.path does: what cannot be read counts as
// missing.
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

// IsLink reports whether path is a symbolic link, even a broken one.
func IsLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Exists reports whether path exists. A broken link does not count.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LinkExists reports whether path exists, including broken links (os.path.lexists).
func LinkExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

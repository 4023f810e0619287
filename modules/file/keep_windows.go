package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"github.com/brineproject/brine/internal/dacl"
	"github.com/brineproject/brine/loader"
)

// withoutWaiting is no flag on Windows, where pipes are no files.
const withoutWaiting = 0

// keepAs copies the owner, the access control list and the read-only attribute of the file at dest
// to the file that will replace it.
func keepAs(f *os.File, dest string, info fs.FileInfo) error {
	if err := dacl.Copy(f.Name(), dest); err != nil {
		return err
	}
	return f.Chmod(info.Mode())
}

// copyAttributes does nothing: keepAs copies all.
func copyAttributes(*os.File, string) error { return nil }

// othersMayPlant reports that other users may create names beside a path: a new file is safe.
func othersMayPlant(string) bool { return true }

// removeDir removes an empty directory, and fails for anything else.
func removeDir(path string) error {
	name, err := windows.UTF16PtrFromString(path)
	if err == nil {
		err = windows.RemoveDirectory(name)
	}
	if err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// notThere returns the error of file.remove for a path that does not exist.
func notThere(path string) (any, error) { return nil, loader.Execution("Path not found: %s", path) }

// removeAll removes a file or link, or a directory with its content, by one call for each name.
// os.RemoveAll needs a function of the system that Wine 8.0 does not have.
func removeAll(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() || info.Mode()&fs.ModeSymlink != 0:
		return os.Remove(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := removeAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// removeAll removes what the name stands for.
func (s *spot) removeAll() error { return removeAll(filepath.Join(s.Root.Name(), s.name)) }

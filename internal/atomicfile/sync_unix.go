//go:build unix

package atomicfile

import (
	"errors"
	"os"
)

// SyncDir makes the names in a directory below root survive a power failure. It is no error if the
// file system cannot flush directories.
func SyncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

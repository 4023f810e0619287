//go:build unix

package minion

import (
	"errors"
	"os"
)

// syncDir flushes renames in dir to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

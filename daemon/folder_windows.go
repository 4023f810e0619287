package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
)

// settle creates the directory. Its owner is not changed: see LookUp.
func (f Folder) settle(Account, bool) error { return f.ensure() }

func giveFile(string, Account) error { return nil }

// OpenFile opens a file named in the configuration like os.OpenFile, and creates missing
// directories.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, perm)
}

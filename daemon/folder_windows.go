package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
)

// settle makes the directory. No user is given it: see LookUp.
func (f Folder) settle(Account, bool) error { return f.ensure() }

func giveFile(string, Account) error { return nil }

// OpenFile opens a file of the configuration as os.OpenFile does, and makes the directories that are missing.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, perm)
}

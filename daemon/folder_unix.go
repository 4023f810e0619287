//go:build unix

package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// give gives the folder and what lies in it to a user. Links are not followed; what lies in the job cache stays as it is, as
// in Salt.
func (f Folder) give(who Account, permissive bool) error {
	if err := giveEntry(f.Path, who, permissive); err != nil {
		return err
	}
	if f.Shallow {
		return nil
	}
	return filepath.WalkDir(f.Path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // somebody else has removed it meanwhile
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "jobs":
			if err := giveEntry(path, who, permissive); err != nil {
				return err
			}
			return fs.SkipDir
		case path == f.Path:
			return nil
		}
		return giveEntry(path, who, permissive)
	})
}

// giveEntry changes the owner of one file or folder, when it is another's.
func giveEntry(path string, who Account, permissive bool) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == who.UID && int(owner.Gid) == who.GID {
		return nil
	}
	if permissive && who.inGroup(int(owner.Gid)) {
		return nil
	}
	err = os.Lchown(path, who.UID, who.GID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// giveFile makes a file where it is missing, since the user may not write to its folder, and gives it to the user.
func giveFile(path string, who Account) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return err
	}
	return errors.Join(f.Chown(who.UID, who.GID), f.Close())
}

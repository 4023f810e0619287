package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
)

const (
	dropName             = ".dfn"
	dropMode fs.FileMode = 0o400
)

// A DropFile asks the master for a new session key: the file .dfn in its cachedir, which salt-key leaves after it has
// deleted or rejected keys (salt/crypt.py: dropfile). Its mode, 0400 exactly, proves that a careful program made it.
type DropFile struct {
	Dir string // the master's cachedir
	UID int    // the master's user, when salt-key runs as root and the master does not; 0 leaves the file as it is
}

// Request leaves the file. That one is there already is no error.
func (f DropFile) Request() error {
	err := f.in(func(r *room) error {
		if _, err := r.regular(dropName); err == nil {
			return nil
		}
		if err := r.replace(dropName, nil, dropMode); err != nil {
			return err
		}
		if f.UID > 0 {
			return r.root.Chown(dropName, f.UID, -1)
		}
		return nil
	})
	return f.wrap("request a new session key", err)
}

// Take removes the file and reports whether it asked for a new key. A file of another mode or kind does not; the error
// then wraps ErrPermissions, and the file is gone too if it could be removed.
func (f DropFile) Take() (requested bool, err error) {
	err = f.in(func(r *room) error {
		info, err := r.root.Lstat(dropName)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.root.Remove(dropName); err != nil {
			return err
		}
		requested = info.Mode() == dropMode || runtime.GOOS == "windows" && info.Mode().IsRegular()
		if !requested {
			return fmt.Errorf("mode %v: %w", info.Mode(), ErrPermissions)
		}
		return nil
	})
	return requested, f.wrap("take", err)
}

// Clear removes a file that was left over from before the start, whatever it is.
func (f DropFile) Clear() error {
	_, err := f.Take()
	if errors.Is(err, ErrPermissions) {
		return nil
	}
	return err
}

func (f DropFile) in(do func(*room) error) error {
	r, err := enter(f.Dir)
	if err != nil {
		return err
	}
	defer r.leave()
	return do(r)
}

func (f DropFile) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %s: %w", what, filepath.Join(f.Dir, dropName), err)
	}
	return nil
}

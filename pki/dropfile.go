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

// A DropFile requests a new session key from the master: the file .dfn in its cachedir, which
// salt-key creates after deleting or rejecting keys (salt/crypt.py: dropfile). Its mode must be
// exactly 0400.
type DropFile struct {
	Dir string // the master's cachedir
	// the master's user, if salt-key runs as root and the master does not; 0 does not change the
	// owner
	UID int
}

// Request creates the file. An existing file is not an error.
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

// Take removes the file and reports whether it requested a new key. A file of another mode or type
// does not: then the error wraps ErrPermissions, and the file is removed if possible.
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

// Clear removes a file, of any type, left from before the start.
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

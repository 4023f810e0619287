package daemon

import (
	"fmt"
	"io/fs"
	"os"
)

// A Folder is a directory that a daemon needs (salt/utils/verify.py, verify_env).
type Folder struct {
	Option string // option that sets the path, for messages
	Path   string // "" means none
	// Private directories are closed to others: their mode becomes 0700, or stays 0750.
	Private bool
	// Shallow directories may contain very many files, whose owner is not changed.
	Shallow bool
}

// prepare creates the directory if needed and sets its mode and owner.
func (f Folder) prepare(who Account, permissive bool) error {
	if f.Path == "" {
		return nil
	}
	if err := f.settle(who, permissive); err != nil {
		return &OptionError{f.Option, err}
	}
	return nil
}

// An OptionError is an error about the path of an option.
type OptionError struct {
	Option string
	Err    error
}

// Error returns the option and the cause.
func (e *OptionError) Error() string { return fmt.Sprintf("%s: %v", e.Option, e.Err) }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// ensure creates the directory and sets its mode by path, with the rights of the directory's owner.
func (f Folder) ensure() error {
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		return err
	}
	info, err := os.Stat(f.Path)
	if err != nil || !f.isTooOpen(info.Mode()) {
		return err
	}
	return os.Chmod(f.Path, 0o700)
}

// isTooOpen reports whether a mode gives others access to a private directory.
func (f Folder) isTooOpen(mode fs.FileMode) bool {
	return f.Private && mode.Perm() != 0o700 && mode.Perm() != 0o750
}

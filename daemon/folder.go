package daemon

import (
	"fmt"
	"io/fs"
	"os"
)

// A Folder is one that a daemon needs (salt/utils/verify.py, verify_env).
type Folder struct {
	Option string // whose value the path is, for messages
	Path   string // "" is none
	// Private directories keep others out: their mode becomes 0700, or stays 0750.
	Private bool
	// Shallow directories may hold very many files: what lies in them is not given to the user.
	Shallow bool
}

// prepare makes the directory where it is missing, and sees to its mode and owner.
func (f Folder) prepare(who Account, permissive bool) error {
	if f.Path == "" {
		return nil
	}
	if err := f.settle(who, permissive); err != nil {
		return &OptionError{f.Option, err}
	}
	return nil
}

// An OptionError says which option's path cannot be had.
type OptionError struct {
	Option string
	Err    error
}

// Error returns the option and the cause.
func (e *OptionError) Error() string { return fmt.Sprintf("%s: %v", e.Option, e.Err) }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// ensure makes the directory and sees to its mode by its path, with no more rights than the directory's owner has.
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

// isTooOpen reports whether a mode lets others into a directory that is private.
func (f Folder) isTooOpen(mode fs.FileMode) bool {
	return f.Private && mode.Perm() != 0o700 && mode.Perm() != 0o750
}

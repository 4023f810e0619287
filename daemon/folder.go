package daemon

import (
	"fmt"
	"os"
)

// A Folder is one that a daemon needs (salt/utils/verify.py, verify_env).
type Folder struct {
	Option string // whose value the path is, for messages
	Path   string // "" is none
	// Private folders keep others out: their mode becomes 0700, or stays 0750.
	Private bool
	// Shallow folders may hold very many files: what lies in them is not given to the user.
	Shallow bool
}

// prepare makes the folder where it is missing, and sees to its mode and owner.
func (f Folder) prepare(who Account, permissive bool) error {
	if f.Path == "" {
		return nil
	}
	if err := f.ensure(); err != nil {
		return fmt.Errorf("%s: %w", f.Option, err)
	}
	if who.Other {
		if err := f.give(who, permissive); err != nil {
			return fmt.Errorf("%s: give to %s: %w", f.Option, who.Name, err)
		}
	}
	return nil
}

func (f Folder) ensure() error {
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		return err
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); !f.Private || mode == 0o700 || mode == 0o750 {
		return nil
	}
	return os.Chmod(f.Path, 0o700)
}

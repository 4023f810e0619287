//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// settle creates the directory and changes its owner. Root uses descriptors throughout, since a
// user who owns a directory in the path could replace it with a link.
func (f Folder) settle(who Account, permissive bool) error {
	if os.Geteuid() != 0 {
		return f.ensure()
	}
	dir, err := openFolder(f.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	if f.isTooOpen(info.Mode()) {
		if err := dir.Chmod(0o700); err != nil {
			return err
		}
	}
	if !who.Other {
		return nil
	}
	if err := f.give(dir, who, permissive); err != nil {
		return fmt.Errorf("give to %s: %w", who.Name, err)
	}
	return nil
}

// give changes the owner of the directory and of the directories and files in it. As in Salt, the
// contents of the job cache are skipped. Files with several hard links are skipped, since they may
// belong elsewhere, as are devices, pipes, sockets and links; the owner of the directory can remove
// those.
func (f Folder) give(dir *os.File, who Account, permissive bool) error {
	g := giver{who: who, permissive: permissive}
	if err := g.give(dir); err != nil || f.Shallow {
		return err
	}
	return g.giveContent(dir)
}

// A giver changes the owner of files.
type giver struct {
	who        Account
	permissive bool
}

// entriesAtOnce is the number of directory entries read at a time.
const entriesAtOnce = 1024

func (g giver) giveContent(dir *os.File) error {
	for {
		names, err := dir.Readdirnames(entriesAtOnce)
		for _, name := range names {
			if err := g.giveEntry(dir, name); err != nil && !hasChanged(err) {
				return err
			}
		}
		if errors.Is(err, io.EOF) || hasChanged(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hasChanged reports whether an error means that an entry has vanished or been replaced. The
// process that did so owns the new one.
func hasChanged(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) ||
		errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK)
}

func (g giver) giveEntry(parent *os.File, name string) error {
	var at unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), name, &at, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "stat", Path: filepath.Join(parent.Name(), name), Err: err}
	}
	switch at.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return g.giveFolder(parent, name)
	case unix.S_IFREG:
		return g.giveRegular(parent, name, &at)
	}
	return nil
}

func (g giver) giveFolder(parent *os.File, name string) error {
	dir, err := openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := g.give(dir); err != nil || name == "jobs" {
		return err
	}
	return g.giveContent(dir)
}

// giveRegular changes the owner of a file that looked like at. It checks the file again once it is
// open.
func (g giver) giveRegular(parent *os.File, name string, at *unix.Stat_t) error {
	if g.isGiven(at) {
		return nil
	}
	f, err := openAt(parent, name, pinning|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return g.give(f)
}

// give changes the owner of an open directory, or of an open file with a single name.
func (g giver) give(f *os.File) error {
	var at unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &at); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	kind := at.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && (kind != unix.S_IFREG || at.Nlink != 1) || g.isGiven(&at) {
		return nil
	}
	change := chown
	if kind == unix.S_IFDIR {
		change = chownFolder
	}
	if err := change(f, g.who); err != nil {
		return &fs.PathError{Op: "chown", Path: f.Name(), Err: err}
	}
	return nil
}

// chownFolder changes the owner of a directory opened for reading.
func chownFolder(f *os.File, who Account) error {
	return unix.Fchown(int(f.Fd()),
		who.UID, who.GID)
}

// isGiven reports whether a file already belongs to the user, or is readable through its group and
// may stay as it is.
func (g giver) isGiven(at *unix.Stat_t) bool {
	return int(at.Uid) == g.who.UID && int(at.Gid) == g.who.GID ||
		g.permissive && g.who.inGroup(int(at.Gid))
}

// giveFile creates a file if needed, since the user may not write to its directory, and gives it to
// the user. Devices, pipes and files with several hard links are left alone.
func giveFile(path string, who Account) error {
	if path == "" {
		return nil
	}
	f, err := OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_NONBLOCK, 0o640)
	if errors.Is(err, unix.ENXIO) {
		return nil // a pipe without a reader
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var at unix.Stat_t
	switch err := unix.Fstat(int(f.Fd()), &at); {
	case err != nil:
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	case at.Mode&unix.S_IFMT != unix.S_IFREG || at.Nlink != 1:
		return nil
	}
	return f.Chown(who.UID, who.GID)
}

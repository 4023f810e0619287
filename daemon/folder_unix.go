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

// settle makes the directory and gives it away. Root goes by descriptors all the way: a directory in the path may belong to a
// user who puts a link in its place meanwhile.
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

// give gives the directory, and the directories and files that lie in it, to a user. What lies in the job cache stays as it is, as
// in Salt. So do files with a second name, which may lie elsewhere, and devices, pipes, sockets and links: whoever owns the
// directory can remove them.
func (f Folder) give(dir *os.File, who Account, permissive bool) error {
	g := giver{who: who, permissive: permissive}
	if err := g.give(dir); err != nil || f.Shallow {
		return err
	}
	return g.giveContent(dir)
}

// A giver gives files to a user.
type giver struct {
	who        Account
	permissive bool
}

// entriesAtOnce is how many names of a directory are read at a time.
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

// hasChanged reports whether an entry is gone, or something else by now: somebody is at work there, and owns what he makes.
func hasChanged(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK)
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

// giveRegular gives a file that looked as at says; what counts is what it is once it is open.
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

// give gives an open directory, or an open file that has no other name.
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

// chownFolder changes the owner of a directory that was opened to read it.
func chownFolder(f *os.File, who Account) error { return unix.Fchown(int(f.Fd()), who.UID, who.GID) }

// isGiven reports whether a file is the user's, or one that the user may read as a member of its group and is to stay.
func (g giver) isGiven(at *unix.Stat_t) bool {
	return int(at.Uid) == g.who.UID && int(at.Gid) == g.who.GID || g.permissive && g.who.inGroup(int(at.Gid))
}

// giveFile makes a file where it is missing, since the user may not write to its directory, and gives it to the user. Devices
// and pipes stay as they are, and so does a file with a second name: that may be anybody's.
func giveFile(path string, who Account) error {
	if path == "" {
		return nil
	}
	f, err := OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_NONBLOCK, 0o640)
	if errors.Is(err, unix.ENXIO) {
		return nil // a pipe that nobody reads yet
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

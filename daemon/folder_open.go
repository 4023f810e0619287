//go:build unix

package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the maximum number of symbolic links in a path, as in Linux.
const maxLinks = 40

// OpenFile opens a file named in the configuration like os.OpenFile, and creates missing
// directories. If the process is root, it is protected from redirection by other users: links of
// other users are not followed, and in a directory writable by another user a file with several
// hard links is not opened. Links of root and devices in directories of root are followed and
// opened.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if os.Geteuid() != 0 {
		return openPlainly(path, flag, perm)
	}
	parent, name, err := walkPath(path, flag&unix.O_NOFOLLOW == 0)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		return os.OpenFile(name, flag, perm)
	}
	defer parent.Close()
	own, err := isRoots(parent)
	if err != nil {
		return nil, err
	}
	if !own {
		flag |= unix.O_NONBLOCK // do not block on a pipe
	}
	f, err := openAt(parent, name, flag|unix.O_NOFOLLOW, perm)
	if err != nil || own {
		return f, err
	}
	if err := checkSingle(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// openFolder opens a directory for reading like OpenFile, and creates it if needed.
func openFolder(path string) (*os.File, error) {
	parent, name, err := walkPath(path, true)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		return os.Open(name)
	}
	defer parent.Close()
	if err := makeAt(parent, name); err != nil {
		return nil, err
	}
	return openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// walkPath walks through the directories of a path and creates missing ones. It returns the last
// directory and the name in it, which is not a link unless followLast is false. The directory is
// nil for the root directory and for paths below /proc.
func walkPath(path string, followLast bool) (parent *os.File, name string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, "", err
	}
	for range maxLinks {
		parent, name, to, err := walkOnce(path, followLast)
		if err != nil || to == "" {
			return parent, name, err
		}
		path = to
	}
	return nil, "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// walkOnce is walkPath up to the first link; to is the path with the link resolved.
func walkOnce(path string, followLast bool) (parent *os.File, name, to string, err error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "" || parts[0] == "proc" {
		return nil, path, "", nil
	}
	if parent, err = os.Open("/"); err != nil {
		return nil, "", "", err
	}
	for i, name := range parts {
		last := i == len(parts)-1
		target := ""
		if !last || followLast {
			target, err = linkAt(parent, name)
		}
		if err == nil && last && target == "" {
			return parent, name, "", nil
		}
		var next *os.File
		if err == nil && target == "" {
			next, err = enter(parent, name)
		}
		_ = parent.Close() // nothing was written
		if err != nil {
			return nil, "", "", err
		}
		if target != "" {
			return nil, "", filepath.Join(append([]string{target}, parts[i+1:]...)...), nil
		}
		parent = next
	}
	return parent, name, "", nil
}

// enter opens a subdirectory and creates it if needed.
func enter(parent *os.File, name string) (*os.File, error) {
	if err := makeAt(parent, name); err != nil {
		return nil, err
	}
	return openAt(parent, name, passing|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// linkAt returns the target of a link, or "" if it is not a link. A link is followed only if root
// owns it and its directory, and no other user could have replaced it.
func linkAt(parent *os.File, name string) (string, error) {
	path := filepath.Join(parent.Name(), name)
	var link, folder unix.Stat_t
	err := unix.Fstatat(int(parent.Fd()), name, &link, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return "", nil
	}
	if err == nil {
		err = unix.Fstat(int(parent.Fd()), &folder)
	}
	if err != nil {
		return "", &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if link.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", nil
	}
	if link.Uid != 0 || folder.Uid != 0 || folder.Mode&0o002 != 0 && folder.Mode&unix.S_ISVTX == 0 {
		return "", fmt.Errorf("%s: root does not follow a link that another user may have made",
			path)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(parent.Fd()), name, buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: path, Err: err}
	}
	if target := string(buf[:n]); filepath.IsAbs(target) {
		return target, nil
	}
	return filepath.Join(parent.Name(), string(buf[:n])), nil
}

// makeAt creates a subdirectory unless the name exists.
func makeAt(parent *os.File, name string) error {
	if err := unix.Mkdirat(int(parent.Fd()), name, 0o755); err != nil && err != unix.EEXIST {
		var there unix.Stat_t
		if unix.Fstatat(int(parent.Fd()), name, &there, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return nil // on a read-only file system this error comes first
		}
		return &fs.PathError{Op: "mkdir", Path: filepath.Join(parent.Name(), name), Err: err}
	}
	return nil
}

// openAt opens an entry of a directory.
func openAt(parent *os.File, name string, flag int, perm fs.FileMode) (*os.File, error) {
	path := filepath.Join(parent.Name(), name)
	for {
		fd, err := unix.Openat(int(parent.Fd()), name, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if err != unix.EINTR {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// isRoots reports whether only root can write to a directory.
func isRoots(folder *os.File) (bool, error) {
	var at unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &at); err != nil {
		return false, &fs.PathError{Op: "stat", Path: folder.Name(), Err: err}
	}
	return at.Uid == 0 && at.Mode&0o022 == 0, nil
}

// checkSingle returns an error about a file in a directory writable by another user if it is unsafe
// to open.
func checkSingle(f *os.File) error {
	var at unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &at); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case at.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s: in a directory that another user may write to, root opens nothing but a regular file", f.Name())
	case at.Nlink > 1:
		return fmt.Errorf("%s: in a directory that another user may write to, root opens no file with a second name", f.Name())
	}
	return nil
}

// openPlainly opens a file as a user other than root: with that user's rights links are harmless.
func openPlainly(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, perm)
}

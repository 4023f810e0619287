//go:build unix

package program

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the most symbolic links that a path may lead through.
const maxLinks = 40

// Trusted returns an error if users other than root and that of this process can change what lies
// at path. It checks the file, each symbolic link on the way, and each directory above them. In a
// directory with the sticky bit, such as /tmp, others cannot replace what is not theirs.
func Trusted(path string) error {
	_, err := resolve(path)
	return err
}

// resolve returns path without symbolic links, or the error of [Trusted].
func resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at, links := "/", 0
	for rest := strings.Split(absolute, "/"); len(rest) > 0; {
		at, rest = step(at, rest[0]), rest[1:]
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := trusted(at, info, len(rest) > 0 || at == "/"); err != nil {
				return "", err
			}
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s leads through more than %d links", path, maxLinks)
		}
		to, err := readLink(at, info)
		if err != nil {
			return "", err
		}
		if at = filepath.Dir(at); filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// step returns the path of an entry of a directory that is not a link.
func step(dir, name string) string {
	if name == ".." {
		return filepath.Dir(dir)
	}
	return filepath.Join(dir, name)
}

// readLink returns the target of a link, or an error if another user owns the link.
func readLink(path string, info fs.FileInfo) (string, error) {
	if err := ownedByUs(path, info); err != nil {
		return "", err
	}
	return os.Readlink(path)
}

// trusted checks a file or directory. above reports whether the path leads on from there.
func trusted(path string, info fs.FileInfo, above bool) error {
	if err := ownedByUs(path, info); err != nil {
		return err
	}
	mode := info.Mode()
	if mode.Perm()&0o022 == 0 || above && mode&fs.ModeSticky != 0 {
		return nil
	}
	bits := mode.Perm()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		bits = fs.FileMode(stat.Mode & 0o7777)
	}
	return fmt.Errorf("%s has mode %04o: other users could change the code", path, uint32(bits))
}

// ownedByUs returns an error unless root or the user of this process owns a file.
func ownedByUs(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || stat.Uid == uint32(os.Geteuid()) {
		return nil
	}
	return fmt.Errorf("%s belongs to the user with the id %d, who could change the code",
		path, stat.Uid)
}

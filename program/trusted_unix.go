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

// Trusted returns an error unless only root and the user of this process can change what lies at a
// path. Each directory above it and each link on the way counts as well, but of a directory with the
// sticky bit, such as /tmp, others cannot replace what is not theirs.
func Trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	rest, at := strings.Split(path, "/"), "/"
	for links := 0; len(rest) > 0; {
		var name string
		name, rest = rest[0], rest[1:]
		at = filepath.Join(at, name)
		target, err := os.Readlink(at)
		if err != nil { // no link
			if err := trusted(at, len(rest) > 0); err != nil {
				return err
			}
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s leads through more than %d links", path, maxLinks)
		}
		if err := owned(at); err != nil {
			return err
		}
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

// trusted checks one path; above reports whether it is a directory above the one in question.
func trusted(path string, above bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 && (!above || info.Mode()&fs.ModeSticky == 0) {
		mode := info.Sys().(*syscall.Stat_t).Mode & 0o7777
		return fmt.Errorf("%s has mode %04o: other users could change the code", path, mode)
	}
	return owned(path)
}

// owned checks the owner of a file, a directory or a link.
func owned(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Uid != 0 && stat.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to the user with the id %d, who could change the code", path,
			stat.Uid)
	}
	return nil
}

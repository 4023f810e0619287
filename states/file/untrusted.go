//go:build unix

package file

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// untrustedLink returns a message if a link of another user anywhere in a path leads to something
// that this user does not own. Otherwise, anyone with write access to a directory could redirect a
// state that runs as root. Salt follows such links. It returns "" if there is no such link. Links
// owned by root are trusted. So is a link that was given to a user, if it lies in a directory of
// root's that nobody else may write to.
func untrustedLink(path string) string {
	if os.Geteuid() != 0 || !filepath.IsAbs(path) {
		return ""
	}
	for at := filepath.Clean(path); at != "/"; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		link := uidOf(info)
		if link == 0 || !othersWrite(filepath.Dir(at)) {
			continue
		}
		if info, err = os.Stat(at); err == nil && uidOf(info) != link {
			return fmt.Sprintf("%s leads through link %s, owned by user %d, to a path owned by user %d", path, at, link, uidOf(info))
		}
	}
	return ""
}

// othersWrite reports whether users other than root may create links in a directory.
func othersWrite(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || uidOf(info) != 0 || info.Mode().Perm()&0o022 != 0
}

func uidOf(info os.FileInfo) uint32 {
	st, _ := info.Sys().(*syscall.Stat_t)
	return st.Uid
}

//go:build unix

package file

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// strangersLink says that a link of another user, anywhere in a path, leads to what is not that user's: whoever may write to a directory
// could so have a state that runs as root work elsewhere. Salt follows such links. It is "" where there is none, where links are
// root's, and where a link that was given to a user lies in a directory of root's that nobody else may write to.
func strangersLink(path string) string {
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
			return fmt.Sprintf("%s leads by the link %s of user %d to what is of user %d", path, at, link, uidOf(info))
		}
	}
	return ""
}

// othersWrite reports whether users that are not root may make links in a directory.
func othersWrite(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || uidOf(info) != 0 || info.Mode().Perm()&0o022 != 0
}

func uidOf(info os.FileInfo) uint32 {
	st, _ := info.Sys().(*syscall.Stat_t)
	return st.Uid
}

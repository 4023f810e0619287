//go:build unix

package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownerOf returns the owner of a file, or of the directory that keeps the running user from reading
// it; "" if unknown.
func ownerOf(path string) string {
	for {
		info, err := os.Stat(path)
		if err == nil {
			return nameOf(info)
		}
		up := filepath.Dir(path)
		if up == path {
			return ""
		}
		path = up
	}
}

func nameOf(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	id := strconv.FormatUint(uint64(stat.Uid), 10)
	if who, err := user.LookupId(id); err == nil {
		return who.Username
	}
	return id
}

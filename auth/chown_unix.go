//go:build unix

package auth

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// chown changes the owner of f to the named user if the process may do so.
func chown(f *os.File, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return f.Chown(uid, -1)
}

// belongsTo reports whether a file has the owner that chown gives it.
func belongsTo(info os.FileInfo, name string) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if euid := os.Geteuid(); euid != 0 {
		return int64(stat.Uid) == int64(euid)
	}
	u, err := user.Lookup(name)
	return err == nil && u.Uid == strconv.FormatUint(uint64(stat.Uid), 10)
}

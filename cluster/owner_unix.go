//go:build unix

package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ownedBy returns an error unless the user with a name owns a file. An unknown user is no error.
func ownedBy(path, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return nil //nolint:nilerr // who checks the option user reports it
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	owner := ""
	if ok {
		owner = strconv.FormatUint(uint64(st.Uid), 10)
	}
	switch {
	case !ok || owner == u.Uid:
		return nil
	case u.Uid == "0":
		return fmt.Errorf("%w: %s belongs to user %s, who can read and change it", errOwner, path, nameOf(owner))
	}
	return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
}

// nameOf returns the name of a user, or the number of one without a name.
func nameOf(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

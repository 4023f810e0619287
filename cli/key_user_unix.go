//go:build unix

package cli

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// userID returns the number of a user, that of the process for no name.
func userID(name string) (int, error) {
	switch name {
	case "":
		return os.Geteuid(), nil
	case "root":
		return 0, nil // also where there is no list of users
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, errNoUser
	}
	return strconv.Atoi(u.Uid)
}

// switchUser makes the whole process run as a user, with the user's groups. It does nothing when it does already.
func switchUser(name string) error {
	id, err := userID(name)
	if err != nil {
		return err
	}
	if id == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errUnableToSwitch
	}
	u, err := user.LookupId(strconv.Itoa(id))
	if err != nil {
		return errNoUser
	}
	group, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(groups(u, group)); err != nil {
		return err
	}
	if err := syscall.Setgid(group); err != nil {
		return err
	}
	return syscall.Setuid(id)
}

// groups returns the groups of a user, at least the one that is its own.
func groups(u *user.User, own int) []int {
	list := []int{own}
	names, err := u.GroupIds()
	if err != nil {
		return list // fewer rights do no harm
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil && id != own {
			list = append(list, id)
		}
	}
	return list
}

// giveTo gives a file to a user, where the process may do that.
func giveTo(path string, id int) error {
	if os.Geteuid() != 0 || id == 0 {
		return nil
	}
	return os.Chown(path, id, -1)
}

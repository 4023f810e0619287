//go:build unix

package daemon

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// lookUp finds a user; no name is the one that this process runs as. The error tells that there is none, or that the
// process may not become that user.
func lookUp(name string) (account, error) {
	own := account{uid: os.Geteuid(), gid: os.Getegid()}
	if name == "" || name == "root" && own.uid == 0 {
		return own, nil // also where there is no list of users
	}
	u, err := user.Lookup(name)
	if err != nil {
		return own, errNoUser
	}
	a := account{name: name, home: u.HomeDir}
	if a.uid, err = strconv.Atoi(u.Uid); err != nil {
		return own, err
	}
	if a.gid, err = strconv.Atoi(u.Gid); err != nil {
		return own, err
	}
	if a.uid == own.uid {
		return own, nil
	}
	if own.uid != 0 {
		return own, errNotRoot
	}
	a.other, a.groups = true, groupsOf(u, a.gid)
	return a, nil
}

// groupsOf returns the groups of a user, its own first.
func groupsOf(u *user.User, own int) []int {
	list := []int{own}
	names, err := u.GroupIds()
	if err != nil {
		return list // fewer rights do no harm
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// become makes the whole process run as the user for good: groups, user and capabilities (salt/utils/verify.py, check_user).
func (a account) become() error {
	if err := syscall.Setgroups(a.groups); err != nil {
		return fmt.Errorf("set groups: %w", err)
	}
	if err := syscall.Setgid(a.gid); err != nil {
		return fmt.Errorf("set group: %w", err)
	}
	if err := syscall.Setuid(a.uid); err != nil {
		return fmt.Errorf("set user: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if os.Geteuid() != a.uid || syscall.Setuid(0) == nil {
		return fmt.Errorf("the rights of root could not be given up")
	}
	return a.setEnvironment()
}

// setEnvironment names the user to programs that the daemon starts.
func (a account) setEnvironment() error {
	for name, value := range map[string]string{"HOME": a.home, "USER": a.name, "LOGNAME": a.name, "USERNAME": a.name} {
		if _, ok := os.LookupEnv(name); !ok && name == "USERNAME" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

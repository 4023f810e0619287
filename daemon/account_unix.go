//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// LookUp finds a user; "" means the user of this process. The error is ErrNoUser if there is none.
func LookUp(name string) (Account, error) {
	own := Account{UID: os.Geteuid(), GID: os.Getegid()}
	if name == "" || name == "root" && own.UID == 0 {
		return own, nil // works even without a user database
	}
	u, err := user.Lookup(name)
	if err != nil {
		return own, ErrNoUser
	}
	a := Account{Name: name, home: u.HomeDir}
	if a.UID, err = strconv.Atoi(u.Uid); err != nil {
		return own, err
	}
	if a.GID, err = strconv.Atoi(u.Gid); err != nil {
		return own, err
	}
	if a.UID == own.UID {
		return own, nil
	}
	a.Other, a.groups = true, groupsOf(u, a.GID)
	return a, nil
}

// groupsOf returns the groups of a user, primary group first.
func groupsOf(u *user.User, own int) []int {
	list := []int{own}
	names, err := u.GroupIds()
	if err != nil {
		return list // fewer groups only mean fewer rights
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// mayBecome returns an error if this process cannot become the user.
func (a Account) mayBecome() error {
	if a.Other && os.Geteuid() != 0 {
		return ErrNotRoot
	}
	return nil
}

// Become switches the whole process permanently to the user: groups, user and capabilities
// (salt/utils/verify.py, check_user). It does nothing if the process already runs as the user. The
// error wraps ErrNotRoot if only root may do it.
func (a Account) Become() error {
	if !a.Other {
		return nil
	}
	if err := a.mayBecome(); err != nil {
		return err
	}
	if err := syscall.Setgroups(a.groups); err != nil {
		return fmt.Errorf("set groups: %w", err)
	}
	if err := syscall.Setgid(a.GID); err != nil {
		return fmt.Errorf("set group: %w", err)
	}
	if err := syscall.Setuid(a.UID); err != nil {
		return fmt.Errorf("set user: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if os.Geteuid() != a.UID || syscall.Setuid(0) == nil {
		return errors.New("the rights of root could not be given up")
	}
	return a.setEnvironment()
}

// setEnvironment sets the environment variables that identify the user, for child processes.
func (a Account) setEnvironment() error {
	for name, value := range map[string]string{"HOME": a.home, "USER": a.Name, "LOGNAME": a.Name,
		"USERNAME": a.Name} {
		if _, ok := os.LookupEnv(name); !ok && name == "USERNAME" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Package accounts reads the users and groups of a host from etc/passwd and etc/group below a root
// directory (passwd(5), group(5)).
//
// Users known only to the name service switch, such as those of LDAP, are not seen: that would need
// the C library.
package accounts

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A User is a line of etc/passwd.
type User struct {
	Name, Password       string
	UID, GID             int64
	Comment, Home, Shell string
}

// A Group is a line of etc/group.
type Group struct {
	Name, Password string
	GID            int64
	Members        []string
}

// Users returns the users below a root directory, "" meaning /, in the order of the file. Invalid
// lines are skipped.
func Users(root string) ([]User, error) {
	var users []User
	err := lines(root, "etc/passwd", 7, func(f []string) error {
		uid, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		gid, err := strconv.ParseInt(f[3], 10, 64)
		if err == nil {
			users = append(users, User{f[0], f[1], uid, gid, f[4], f[5], f[6]})
		}
		return err
	})
	return users, err
}

// Groups returns the groups below a root directory, "" meaning /, in the order of the file. Invalid
// lines are skipped.
func Groups(root string) ([]Group, error) {
	var groups []Group
	err := lines(root, "etc/group", 4, func(f []string) error {
		gid, err := strconv.ParseInt(f[2], 10, 64)
		if err == nil {
			members := strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })
			groups = append(groups, Group{f[0], f[1], gid, members})
		}
		return err
	})
	return groups, err
}

// lines passes the fields of each line to take, which returns an error for an invalid line.
func lines(root, name string, fields int, take func([]string) error) error {
	f, err := os.Open(filepath.Join("/", root, name))
	if err != nil {
		return fmt.Errorf("read accounts: %w", err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20) // a group may have many members
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if parts := strings.Split(line, ":"); len(parts) == fields && line[0] != '+' &&
			line[0] != '-' {
			_ = take(parts)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read accounts: %s: %w", f.Name(), err)
	}
	return nil
}

// GroupsOf returns the names of a user's groups, both the one of the user's entry and memberships,
// sorted.
func GroupsOf(name string, users []User, groups []Group) []string {
	own := slices.IndexFunc(users, func(u User) bool { return u.Name == name })
	var names []string
	for _, g := range groups {
		if own >= 0 && g.GID == users[own].GID || slices.Contains(g.Members, name) {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

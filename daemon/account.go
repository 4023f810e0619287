package daemon

import (
	"errors"
	"slices"
)

// Errors of LookUp that callers distinguish.
var (
	ErrNoUser  = errors.New("there is no such user")
	ErrNotRoot = errors.New("only root may run as another user")
)

// An Account is a user known to the system.
type Account struct {
	Name     string // "" means the user of this process
	UID, GID int
	Other    bool // not the user of this process
	home     string
	groups   []int
}

// inGroup reports whether the user is a member of a group.
func (a Account) inGroup(gid int) bool { return a.GID == gid || slices.Contains(a.groups, gid) }

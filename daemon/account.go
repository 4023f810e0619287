package daemon

import (
	"errors"
	"slices"
)

// Errors of LookUp that a program tells apart.
var (
	ErrNoUser  = errors.New("there is no such user")
	ErrNotRoot = errors.New("only root may run as another user")
)

// An Account is a user as the system knows it.
type Account struct {
	Name     string // "" for the user of this process
	UID, GID int
	Other    bool // another user than the one that this process runs as
	home     string
	groups   []int
}

// inGroup reports whether the user is a member of a group.
func (a Account) inGroup(gid int) bool { return a.GID == gid || slices.Contains(a.groups, gid) }

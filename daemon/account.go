package daemon

import "errors"

var (
	errNoUser  = errors.New("there is no such user")
	errNotRoot = errors.New("only root may run as another user")
)

// An account is a user as the system knows it.
type account struct {
	name     string
	home     string
	uid, gid int
	groups   []int
	other    bool // another than the one that this process runs as
}

// inGroups reports whether the user is a member of a group.
func (a account) inGroups(gid int) bool {
	for _, g := range a.groups {
		if g == gid {
			return true
		}
	}
	return a.gid == gid
}

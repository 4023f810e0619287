package file

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// permsArgs is the wanted state of a file. Windows has only its name, user and access.
type permsArgs struct {
	Name                            string
	Ret                             any
	User, Group, Mode, Attrs        any
	FollowSymlinks                  bool
	Seuser, Serole, Setype, Serange any
	access                          accessList
}

// An accessList is a wanted access control list of Windows, as the arguments win_perms,
// win_deny_perms, win_inheritance and win_perms_reset of file.managed have it. The zero value
// changes nothing.
type accessList struct {
	grant, deny *data.Map
	inherit     any // a bool; None changes nothing
	reset       bool
}

// accessListOf reads the arguments of an access control list.
func accessListOf(kwargs *data.Map) accessList {
	grant, _ := kwargs.Value("win_perms").(*data.Map)
	deny, _ := kwargs.Value("win_deny_perms").(*data.Map)
	return accessList{grant, deny, kwargs.Value("win_inheritance"),
		data.Truth(kwargs.Value("win_perms_reset"))}
}

// normalMode returns a mode as text of at least four octal digits, and whether it is not None
// (salt/utils/files.py, normalize_mode).
func normalMode(v any) (string, bool) {
	if v == nil {
		return "", false
	}
	mode := strings.TrimLeft(strings.Trim(strings.Trim(strings.ReplaceAll(data.Str(v), "0o", "0"),
		`"`), "'"), "0")
	return strings.Repeat("0", max(0, 4-len(mode))) + mode, true
}

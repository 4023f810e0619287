//go:build unix

package file

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type setModeArgs struct {
	Path string
	Mode any
}

// setMode sets the mode of a file, given in octal digits, and returns the new mode.
//
// CLI Example:
//
//	salt '*' file.set_mode /etc/passwd 0644
func setMode(_ context.Context, a setModeArgs) (any, error) {
	path := home(a.Path)
	if _, err := os.Stat(path); err != nil {
		return nil, loader.Execution("%s: File not found", path)
	}
	mode, ok := modeOf(a.Mode)
	if !ok || os.Chmod(path, mode) != nil {
		return "Invalid Mode " + octal(a.Mode), nil
	}
	return one(followArgs{path, true}, "mode")
}

// octal returns the digits of a mode without the prefix that Salt strips.
func octal(mode any) string { return cmp.Or(strings.TrimLeft(data.Str(mode), "0Oo"), "0") }

// modeOf reads a mode in octal digits.
func modeOf(mode any) (fs.FileMode, bool) {
	bits, err := strconv.ParseUint(octal(mode), 8, 32)
	return fileMode(uint32(bits)), err == nil
}

// fileMode converts mode bits of chmod(2).
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid,
		0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

type chownArgs struct {
	Path  string
	User  any
	Group any
}

// chown changes the user and group of a file, by name or id. An empty value keeps the current one.
// Links are followed. If the change is impossible, the result is a text with the reason.
//
// CLI Example:
//
//	salt '*' file.chown /etc/passwd root root
func chown(ctx context.Context, a chownArgs) (any, error) {
	path := home(a.Path)
	uid, gid, complaint, err := idsOf(ctx, a)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		if os.Lchown(path, uid, gid) == nil {
			return nil, nil
		}
		complaint += "File not found"
	}
	if complaint != "" {
		return complaint, nil
	}
	return nil, osError(os.Chown(path, uid, gid))
}

// lchown changes the user and group of a file, or of a link itself, by name or id. An empty value
// keeps the current one.
//
// CLI Example:
//
//	salt '*' file.lchown /etc/passwd root root
func lchown(ctx context.Context, a chownArgs) (any, error) {
	uid, gid, complaint, err := idsOf(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return complaint, nil
	}
	return nil, osError(os.Lchown(home(a.Path), uid, gid))
}

// idsOf returns the ids of a user and a group, -1 for an empty one. complaint says which of them
// does not exist.
func idsOf(ctx context.Context, a chownArgs) (uid, gid int, complaint string, err error) {
	var user, group any
	if user, err = userToUid(ctx, userArgs{a.User}); err == nil {
		group, err = groupToGid(ctx, groupArgs{a.Group})
	}
	if err != nil {
		return 0, 0, "", err
	}
	uid, gid = -1, -1
	if id, ok := user.(int64); ok {
		uid = int(id)
	} else if data.Truth(a.User) {
		complaint = "User does not exist\n"
	}
	if id, ok := group.(int64); ok {
		gid = int(id)
	} else if data.Truth(a.Group) {
		complaint += "Group does not exist\n"
	}
	return uid, gid, complaint, nil
}

type chgrpArgs struct {
	Path  string
	Group any
}

// chgrp changes the group of a file, by name or id.
//
// CLI Example:
//
//	salt '*' file.chgrp /etc/passwd root
func chgrp(ctx context.Context, a chgrpArgs) (any, error) {
	user, err := one(followArgs{a.Path, true}, "user")
	if err != nil {
		return nil, err
	}
	return chown(ctx, chownArgs{a.Path, user, a.Group})
}

//go:build unix

package file

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ids are the numbers of the user and the group that own a file.
type ids struct{ uid, gid int64 }

// metaOf reads the metadata of a file, or with follow unset that of a link itself.
func metaOf(path string, follow bool) (meta, error) {
	var st unix.Stat_t
	read := unix.Lstat
	if follow {
		read = unix.Stat
	}
	err := read(path, &st)
	return meta{path: path, inode: st.Ino, links: uint64(st.Nlink), size: st.Size,
		mode: uint32(st.Mode), atime: seconds(st.Atim), mtime: seconds(st.Mtim),
		ctime: seconds(st.Ctim), ids: ids{int64(st.Uid), int64(st.Gid)}}, err
}

func seconds(t unix.Timespec) float64 { return float64(t.Sec) + 1e-9*float64(t.Nsec) }

// owned returns the first part of the result of file.stats.
func (m meta) owned() *data.Map {
	return data.NewMap("inode", int64(m.inode), "uid", m.uid, "gid", m.gid,
		"group", groupName(m.gid), "user", userName(m.uid))
}

// numbers returns the ids of the owners.
func (m meta) numbers() (uid, gid int64) { return m.uid, m.gid }

// owner returns the id of the user or of the group, by a key of file.find.
func (m meta) owner(key string) any {
	if key == "group" {
		return m.gid
	}
	return m.uid
}

// ownerName returns the name of the user or of the group, or the id if it is unknown.
func (m meta) ownerName(key string) any {
	if key == "group" {
		return groupName(m.gid)
	}
	return userName(m.uid)
}

// userName returns the name of a user, or the id if it is unknown.
func userName(uid int64) any {
	if u, err := user.LookupId(strconv.FormatInt(uid, 10)); err == nil {
		return u.Username
	}
	return uid
}

func groupName(gid int64) any {
	if g, err := user.LookupGroupId(strconv.FormatInt(gid, 10)); err == nil {
		return g.Name
	}
	return gid
}

// ownerID returns the id of a user or group by name or id, and "" if it does not exist.
func ownerID(key, name string) (any, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return id, nil
	}
	if key == "group" {
		return groupToGid(context.Background(), groupArgs{name})
	}
	return userToUid(context.Background(), userArgs{name})
}

type uidArgs struct {
	UID any `name:"uid"`
}

// uidToUser returns the name of a user by id, or the id if it is unknown.
//
// CLI Example:
//
//	salt '*' file.uid_to_user 0
func uidToUser(_ context.Context, a uidArgs) (any, error) {
	switch id := a.UID.(type) {
	case int64:
		return userName(id), nil
	}
	return nil, loader.TypeError("uid should be integer, not %s", loader.TypeName(a.UID))
}

type userArgs struct {
	User any
}

// userToUid returns the id of a user, without an argument that of the minion's user, and an empty
// text if the user does not exist.
//
// CLI Example:
//
//	salt '*' file.user_to_uid root
func userToUid(_ context.Context, a userArgs) (any, error) {
	switch name := a.User.(type) {
	case nil:
		return int64(os.Geteuid()), nil
	case int64:
		return name, nil
	case string:
		return idOf(user.Lookup(name))
	}
	return nil, loader.TypeError("getpwnam() argument must be str, not %s", loader.TypeName(a.User))
}

func idOf(u *user.User, err error) (any, error) {
	if err != nil {
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			return "", nil
		}
		return nil, err
	}
	return loader.Int(u.Uid)
}

type gidArgs struct {
	GID any `name:"gid"`
}

// gidToGroup returns the name of a group by id, or the id if it is unknown. A group name is
// returned as it is.
//
// CLI Example:
//
//	salt '*' file.gid_to_group 0
func gidToGroup(ctx context.Context, a gidArgs) (any, error) {
	id := a.GID
	if name, ok := id.(string); ok {
		n, err := loader.Int(name)
		if err != nil {
			if id, err = groupToGid(ctx, groupArgs{name}); err != nil || id == "" {
				return id, err
			}
		} else {
			id = n
		}
	}
	n, err := loader.Int(id)
	if err != nil {
		return nil, err
	}
	return groupName(n), nil
}

type groupArgs struct{ Group any }

// groupToGid returns the id of a group, and an empty text if the group does not exist.
//
// CLI Example:
//
//	salt '*' file.group_to_gid root
func groupToGid(_ context.Context, a groupArgs) (any, error) {
	switch name := a.Group.(type) {
	case nil:
		return "", nil
	case int64:
		return name, nil
	case string:
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", nil //nolint:nilerr // like Salt
		}
		return loader.Int(g.Gid)
	}
	return nil, loader.TypeError("getgrnam() argument must be str, not %s",
		loader.TypeName(a.Group))
}

type statvfsArgs struct{ Path string }

// statvfs returns the sizes of the file system of a path: its blocks and files, and how many are
// free.
//
// CLI Example:
//
//	salt '*' file.statvfs /path/to/file
func statvfs(_ context.Context, a statvfsArgs) (any, error) {
	path := home(a.Path)
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("File path must be absolute.")
	}
	v, err := volume(path)
	if err != nil {
		return nil, loader.Execution("Could not statvfs '%s'", path)
	}
	return v, nil
}

//go:build unix

package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type followArgs struct {
	Path           string
	FollowSymlinks bool `default:"True"`
}

type statsArgs struct {
	Path           string
	HashType       any  `default:"None"`
	FollowSymlinks bool `default:"True"`
}

// stats returns the metadata of a file: its type, size, mode, owners, times in seconds since 1970,
// and the target of links.
//
// hash_type : None
//
//	Add the hash of this type as sum.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.stats /etc/passwd
func stats(_ context.Context, a statsArgs) (any, error) {
	return statsOf(a)
}

func statsOf(a statsArgs) (*data.Map, error) {
	path := home(a.Path)
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if err != nil || !a.FollowSymlinks {
		err = unix.Lstat(path, &st) // a dangling link has owners, too
	}
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return nil, loader.Execution("Path not found: %s", path)
	case err != nil: // an unreadable file is not absent
		return nil, loader.OSError(&os.PathError{Op: "stat", Path: path, Err: err})
	}
	ret := data.NewMap("inode", int64(st.Ino), "uid", int64(st.Uid), "gid", int64(st.Gid),
		"group", groupName(int64(st.Gid)), "user", userName(int64(st.Uid)),
		"atime", seconds(st.Atim), "mtime", seconds(st.Mtim), "ctime", seconds(st.Ctim),
		"size", st.Size, "mode", fmt.Sprintf("%04o", uint32(st.Mode)&0o7777))
	if data.Truth(a.HashType) {
		sum, err := hashFile(path, data.Str(a.HashType))
		if err != nil {
			return nil, err
		}
		ret.Set("sum", sum)
	}
	ret.Set("type", kind(uint32(st.Mode)))
	ret.Set("target", realPath(path, 0))
	return ret, nil
}

func seconds(t unix.Timespec) float64 { return float64(t.Sec) + 1e-9*float64(t.Nsec) }

func kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFCHR:
		return "char"
	case unix.S_IFBLK:
		return "block"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "file"
}

// mostLinks limits the number of links to follow.
const mostLinks = 40

// realPath resolves the links of a path as far as it exists, like Python's os.path.realpath.
func realPath(path string, depth int) string {
	path, _ = filepath.Abs(path)
	if real, err := filepath.EvalSymlinks(path); err == nil || depth > mostLinks || path == "/" {
		if err != nil {
			return path
		}
		return real
	}
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(realPath(filepath.Dir(path), depth+1), to)
		}
		return realPath(to, depth+1)
	}
	return filepath.Join(realPath(filepath.Dir(path), depth+1), filepath.Base(path))
}

// getUid returns the user id of a file.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.get_uid /etc/passwd
func getUid(_ context.Context, a followArgs) (any, error) { return one(a, "uid") }

// getGid returns the group id of a file.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.get_gid /etc/passwd
func getGid(_ context.Context, a followArgs) (any, error) { return one(a, "gid") }

// getUser returns the user that owns a file.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.get_user /etc/passwd
func getUser(_ context.Context, a followArgs) (any, error) { return one(a, "user") }

// getGroup returns the group of a file.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.get_group /etc/passwd
func getGroup(_ context.Context, a followArgs) (any, error) { return one(a, "group") }

// getMode returns the mode of a file, as text in octal digits.
//
// follow_symlinks : True
//
//	If False, look at a link itself.
//
// CLI Example:
//
//	salt '*' file.get_mode /etc/passwd
func getMode(_ context.Context, a followArgs) (any, error) { return one(a, "mode") }

func one(a followArgs, key string) (any, error) {
	st, err := statsOf(statsArgs{Path: a.Path, FollowSymlinks: a.FollowSymlinks})
	if err != nil {
		return nil, err
	}
	return st.Value(key), nil
}

// lstat returns the metadata of a file or of a link itself, by the names of Python's os.lstat; an
// empty dictionary if it does not exist.
//
// CLI Example:
//
//	salt '*' file.lstat /path/to/file
func lstat(_ context.Context, a pathArgs) (any, error) { return lstatOf(a.Path) }

func lstatOf(p string) (*data.Map, error) {
	path := home(p)
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("Path to file must be absolute.")
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return data.NewMap(), nil
	}
	return data.NewMap("st_atime", seconds(st.Atim), "st_ctime", seconds(st.Ctim),
		"st_gid", int64(st.Gid), "st_mode", int64(st.Mode), "st_mtime", seconds(st.Mtim),
		"st_nlink", int64(st.Nlink), "st_size", st.Size, "st_uid", int64(st.Uid)), nil
}

// isHardlink reports whether a file has more than one name. The result is an empty dictionary if it
// does not exist.
//
// CLI Example:
//
//	salt '*' file.is_hardlink /path/to/link
func isHardlink(_ context.Context, a pathArgs) (any, error) {
	st, err := lstatOf(a.Path)
	if err != nil || st.Len() == 0 {
		return st, err
	}
	return st.Value("st_nlink").(int64) > 1, nil
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

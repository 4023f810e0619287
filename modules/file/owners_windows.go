package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/dacl"
	"github.com/brineproject/brine/loader"
)

// ids has nothing on Windows: the owners of a file are read when they are needed.
type ids struct{}

// metaOf reads the metadata of a file, or with follow unset that of a link itself.
func metaOf(path string, follow bool) (meta, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return meta{}, err
	}
	flags := uint32(windows.FILE_FLAG_BACKUP_SEMANTICS)
	if !follow {
		flags |= windows.FILE_FLAG_OPEN_REPARSE_POINT
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, share, nil,
		windows.OPEN_EXISTING, flags, 0)
	if err != nil {
		return meta{}, err
	}
	defer windows.CloseHandle(handle) //nolint:errcheck // only read
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &info); err != nil {
		return meta{}, err
	}
	m := meta{path: path, inode: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
		links: uint64(info.NumberOfLinks), mode: modeFrom(path, info.FileAttributes),
		size:  int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		atime: seconds(info.LastAccessTime), mtime: seconds(info.LastWriteTime),
		ctime: seconds(info.CreationTime)}
	if real, err := os.Lstat(path); !follow && err == nil && real.Mode()&os.ModeSymlink != 0 {
		m.mode = kindLink | 0o777
	}
	return m, nil
}

// modeFrom returns the mode that the C library derives from the attributes and the name of a file.
func modeFrom(path string, attributes uint32) uint32 {
	mode := uint32(kindFile | 0o666)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".exe", ".bat", ".cmd", ".com":
		mode |= 0o111
	}
	if attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0 {
		return kindDir | 0o777
	}
	if attributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		mode &^= 0o222
	}
	return mode
}

func seconds(t windows.Filetime) float64 { return float64(t.Nanoseconds()) / 1e9 }

// owned returns the first part of the result of file.stats, where the owner stands for the group
// too.
func (m meta) owned() *data.Map {
	uid := m.owner("owner")
	name := nameOf(uid)
	pgid, _ := dacl.Group(m.path) // "" if it cannot be read
	return data.NewMap("inode", int64(m.inode), "uid", uid, "gid", uid, "user", name, "group", name,
		"pgid", pgid, "pgroup", nameOf(pgid))
}

// numbers returns zeros like Python: owners have no numbers on Windows.
func (meta) numbers() (uid, gid int64) { return 0, 0 }

// owner returns the SID of the owner, or "" if it cannot be read.
func (m meta) owner(string) any {
	sid, _ := dacl.Owner(m.path)
	return sid
}

// ownerName returns the name of the owner, or the SID if it has none.
func (m meta) ownerName(key string) any { return nameOf(m.owner(key)) }

func nameOf(sid any) any { return dacl.Name(data.Str(sid)) }

// ownerID returns the SID of a user or group, and "" if it does not exist.
func ownerID(_, name string) (any, error) {
	sid, err := dacl.SID(name)
	if err != nil {
		return "", nil //nolint:nilerr // it does not exist
	}
	return sid, nil
}

type uidArgs struct {
	UID any `name:"uid"`
}

// sidToUser returns the name of a user by SID, or the SID if it is unknown.
//
// CLI Example:
//
//	salt '*' file.uid_to_user S-1-5-18
func sidToUser(_ context.Context, a uidArgs) (any, error) {
	if !data.Truth(a.UID) {
		return "", nil
	}
	return nameOf(a.UID), nil
}

type userArgs struct{ User any }

// userToSID returns the SID of a user, without an argument that of the minion's user, and an empty
// text if the user does not exist.
//
// CLI Example:
//
//	salt '*' file.user_to_uid myusername
func userToSID(_ context.Context, a userArgs) (any, error) {
	if a.User == nil {
		return dacl.Self()
	}
	return ownerID("owner", data.Str(a.User))
}

type gidArgs struct {
	GID any `name:"gid"`
}

// sidToGroup returns the name of a group by SID, or the SID if it is unknown.
//
// CLI Example:
//
//	salt '*' file.gid_to_group S-1-5-32-544
func sidToGroup(_ context.Context, a gidArgs) (any, error) {
	return sidToUser(context.Background(), uidArgs{a.GID})
}

type groupArgs struct{ Group any }

// groupToSID returns the SID of a group, and an empty text if the group does not exist.
//
// CLI Example:
//
//	salt '*' file.group_to_gid administrators
func groupToSID(_ context.Context, a groupArgs) (any, error) {
	if a.Group == nil {
		return "", nil
	}
	return ownerID("group", data.Str(a.Group))
}

// getPgid returns the SID of the primary group of a file, which Windows keeps for POSIX only.
//
// CLI Example:
//
//	salt '*' file.get_pgid c:\\temp\\test.txt
func getPgid(_ context.Context, a followArgs) (any, error) { return one(a, "pgid") }

// getPgroup returns the name of the primary group of a file.
//
// CLI Example:
//
//	salt '*' file.get_pgroup c:\\temp\\test.txt
func getPgroup(_ context.Context, a followArgs) (any, error) { return one(a, "pgroup") }

// getNoMode returns None for a file that exists: Windows has no modes.
//
// CLI Example:
//
//	salt '*' file.get_mode c:\\temp\\test.txt
func getNoMode(_ context.Context, a followArgs) (any, error) {
	if _, err := os.Stat(home(a.Path)); err != nil {
		return nil, loader.Execution("Path not found: %s", a.Path)
	}
	return nil, nil
}

type setModeArgs struct {
	Path string
	Mode any
}

// setNoMode does nothing and returns None: Windows has no modes.
//
// CLI Example:
//
//	salt '*' file.set_mode c:\\temp\\test.txt 0644
func setNoMode(ctx context.Context, a setModeArgs) (any, error) {
	return getNoMode(ctx, followArgs{Path: a.Path})
}

type chownArgs struct {
	Path           string
	User           any
	Group          any  `default:"None"` // ignored, as in Salt
	Pgroup         any  `default:"None"`
	FollowSymlinks bool `default:"True"`
}

// changeOwner changes the owner of a file, and with pgroup its primary group. group is ignored: use
// file.set_perms to give a group rights to a file.
//
// CLI Example:
//
//	salt '*' file.chown c:\\temp\\test.txt myusername
func changeOwner(_ context.Context, a chownArgs) (any, error) {
	path := home(a.Path)
	if _, err := os.Lstat(path); err != nil {
		return nil, loader.Execution("Path not found: %s", path)
	}
	if a.FollowSymlinks {
		path = realPath(path, 0)
	}
	if a.User != nil {
		if err := dacl.SetOwner(path, data.Str(a.User)); err != nil {
			return nil, loader.Execution("set the owner of %s: %w", path, err)
		}
	}
	if data.Truth(a.Pgroup) {
		if err := dacl.SetGroup(path, data.Str(a.Pgroup)); err != nil {
			return nil, loader.Execution("set the primary group of %s: %w", path, err)
		}
	}
	return true, nil
}

type lchownArgs struct {
	Path   string
	User   any
	Group  any `default:"None"`
	Pgroup any `default:"None"`
}

// changeLinkOwner changes the owner of a file, or of a link itself, like file.chown.
//
// CLI Example:
//
//	salt '*' file.lchown c:\\temp\\test.txt myusername
func changeLinkOwner(ctx context.Context, a lchownArgs) (any, error) {
	return changeOwner(ctx, chownArgs{Path: a.Path, User: a.User, Group: a.Group, Pgroup: a.Pgroup})
}

type chpgrpArgs struct {
	Path  string
	Group any
}

// chpgrp changes the primary group of a file, which Windows keeps for POSIX only.
//
// CLI Example:
//
//	salt '*' file.chpgrp c:\\temp\\test.txt Administrators
func chpgrp(ctx context.Context, a chpgrpArgs) (any, error) {
	return changeOwner(ctx, chownArgs{Path: a.Path, Pgroup: a.Group, FollowSymlinks: true})
}

// ignoreGroup does nothing and returns None: groups do not own files on Windows.
//
// CLI Example:
//
//	salt '*' file.chgrp c:\\temp\\test.txt administrators
func ignoreGroup(context.Context, chpgrpArgs) (any, error) { return nil, nil }

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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
	m, err := metaOf(path, a.FollowSymlinks)
	if err != nil && a.FollowSymlinks {
		m, err = metaOf(path, false) // a dangling link has owners, too
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, loader.Execution("Path not found: %s", path)
	case err != nil: // an unreadable file is not absent
		return nil, loader.OSError(&os.PathError{Op: "stat", Path: path, Err: err})
	}
	ret := m.owned()
	ret.Update(data.NewMap("atime", m.atime, "mtime", m.mtime, "ctime", m.ctime, "size", m.size,
		"mode", fmt.Sprintf("%04o", m.mode&0o7777)))
	if data.Truth(a.HashType) {
		sum, err := hashFile(path, data.Str(a.HashType))
		if err != nil {
			return nil, err
		}
		ret.Set("sum", sum)
	}
	ret.Set("type", kind(m.mode))
	ret.Set("target", realPath(path, 0))
	return ret, nil
}

// A meta is the metadata of a file that all systems have. Times are in seconds since 1970.
type meta struct {
	path                string
	inode, links        uint64
	size                int64
	mode                uint32 // the kind and the permissions, as stat(2) has them
	atime, mtime, ctime float64
	ids                 // of the owners
}

// The kinds of files, in the bits of a mode.
const (
	kindMask   = 0o170000
	kindSocket = 0o140000
	kindLink   = 0o120000
	kindFile   = 0o100000
	kindBlock  = 0o060000
	kindDir    = 0o040000
	kindChar   = 0o020000
	kindPipe   = 0o010000
)

func kind(mode uint32) string {
	switch mode & kindMask {
	case kindDir:
		return "dir"
	case kindChar:
		return "char"
	case kindBlock:
		return "block"
	case kindLink:
		return "link"
	case kindPipe:
		return "pipe"
	case kindSocket:
		return "socket"
	}
	return "file"
}

// mostLinks limits the number of links to follow.
const mostLinks = 40

// realPath resolves the links of a path as far as it exists, like Python's os.path.realpath.
func realPath(path string, depth int) string {
	path, _ = filepath.Abs(path)
	if real, err := filepath.EvalSymlinks(path); err == nil || depth > mostLinks ||
		filepath.Dir(path) == path {
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
	m, err := metaOf(path, false)
	if err != nil {
		return data.NewMap(), nil //nolint:nilerr // Salt's result
	}
	uid, gid := m.numbers()
	return data.NewMap("st_atime", m.atime, "st_ctime", m.ctime, "st_gid", gid,
		"st_mode", int64(m.mode), "st_mtime", m.mtime, "st_nlink", int64(m.links),
		"st_size", m.size, "st_uid", uid), nil
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

package calls

import (
	"context"
	"fmt"
	"runtime"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Chown calls file.chown, which changes the owner and group of a file. None and "" leave an ID
// unchanged. A missing user or group is not an error.
func Chown(ctx context.Context, env *loader.Env, path string, user, group any) error {
	_, err := env.Call(ctx, "file.chown", []any{path, user, group}, nil)
	return err
}

// UserToUID calls file.user_to_uid and returns the ID of a user; ok is false if there is no such
// user. On Windows, where accounts have no numbers, the ID is 0.
func UserToUID(ctx context.Context, env *loader.Env, user any) (uid int64, ok bool, err error) {
	return toNumber(ctx, env, "file.user_to_uid", user)
}

// GroupToGID calls file.group_to_gid and returns the ID of a group; ok is false if there is no such
// group.
func GroupToGID(ctx context.Context, env *loader.Env, group any) (gid int64, ok bool, err error) {
	return toNumber(ctx, env, "file.group_to_gid", group)
}

func toNumber(
	ctx context.Context, env *loader.Env, fun string, name any,
) (n int64, ok bool, err error) {
	v, err := env.Call(ctx, fun, []any{name}, nil)
	if err != nil || v == nil || v == "" {
		return 0, false, err
	}
	if _, isSID := v.(string); isSID && runtime.GOOS == "windows" {
		return 0, true, nil
	}
	n, err = loader.ResultAs[int64](fun, v)
	return n, err == nil, err
}

// IsLink calls file.is_link and reports whether a path is a symbolic link.
func IsLink(ctx context.Context, env *loader.Env, path string) (bool, error) {
	return loader.CallAs[bool](ctx, env, "file.is_link", []any{path}, nil)
}

// Readlink calls file.readlink and returns the target of a symbolic link.
func Readlink(ctx context.Context, env *loader.Env, path string) (string, error) {
	return loader.CallAs[string](ctx, env, "file.readlink", []any{path}, nil)
}

// FileExists calls file.file_exists and reports whether a path is a file.
func FileExists(ctx context.Context, env *loader.Env, path any) (bool, error) {
	return loader.CallAs[bool](ctx, env, "file.file_exists", []any{path}, nil)
}

// GetHash calls file.get_hash and returns the hash of a file. form is the hash type; None means
// sha256.
func GetHash(ctx context.Context, env *loader.Env, path, form any) (string, error) {
	return loader.CallAs[string](ctx, env, "file.get_hash", with(path, form), nil)
}

// Touch calls file.touch, which creates a file if it does not exist.
func Touch(ctx context.Context, env *loader.Env, path string) error {
	_, err := env.Call(ctx, "file.touch", []any{path}, nil)
	return err
}

// Owned is the owner, group and mode of a new directory. Fields that are nil are not passed on. On
// Windows only the user counts.
type Owned struct{ User, Group, Mode any }

func (o Owned) kwargs() *data.Map {
	var w words
	if runtime.GOOS == "windows" {
		w.add("owner", data.Truth(o.User), o.User)
		return w.kwargs
	}
	w.add("user", o.User != nil, o.User)
	w.add("group", o.Group != nil, o.Group)
	w.add("mode", o.Mode != nil, o.Mode)
	return w.kwargs
}

// Mkdir calls file.mkdir, which creates a directory.
func Mkdir(ctx context.Context, env *loader.Env, path string, o Owned) error {
	_, err := env.Call(ctx, "file.mkdir", []any{path}, o.kwargs())
	return err
}

// MakeDirs calls file.makedirs, which creates the parent directories of a path.
func MakeDirs(ctx context.Context, env *loader.Env, path string, o Owned) error {
	_, err := env.Call(ctx, "file.makedirs", []any{path}, o.kwargs())
	return err
}

// SourceList calls file.source_list and returns the first source that exists, and its hash.
func SourceList(
	ctx context.Context, env *loader.Env, source, hash, saltenv any,
) (first, itsHash any, err error) {
	const fun = "file.source_list"
	v, err := env.Call(ctx, fun, []any{source, hash, saltenv}, nil)
	if err != nil {
		return nil, nil, err
	}
	return pair(fun, v)
}

// Stats calls file.stats and returns the status of a file itself, not of a link's target.
func Stats(ctx context.Context, env *loader.Env, path any) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, env, "file.stats", []any{path},
		data.NewMap("follow_symlinks", false))
}

// Permissions are the owner and mode that a file should have. Fields with their zero value are not
// passed on, except Path, Changes, User, Group and Mode.
type Permissions struct {
	Path           string
	Changes        *data.Map // ret: the state result that receives the changes, nil for a new one
	User, Group    any
	Mode           any
	Attrs          any       // attrs: the attributes as shown by lsattr
	FollowSymlinks bool      // follow_symlinks: apply to the target of a link
	More           *data.Map // further arguments by name
}

// CheckPerms calls file.check_perms, which sets the owner and mode of a file. It returns the state
// result and the previous permissions.
func CheckPerms(
	ctx context.Context, env *loader.Env, p Permissions,
) (ret, was *data.Map, err error) {
	const fun = "file.check_perms"
	if runtime.GOOS == "windows" {
		return checkAccess(ctx, env, p)
	}
	w := words{p.More.Clone()}
	w.add("attrs", p.Attrs != nil, p.Attrs)
	w.add("follow_symlinks", p.FollowSymlinks, true)
	var changes any
	if p.Changes != nil {
		changes = p.Changes
	}
	v, err := env.Call(ctx, fun, []any{p.Path, changes, p.User, p.Group, p.Mode}, w.kwargs)
	if err != nil {
		return nil, nil, err
	}
	first, second, err := pair(fun, v)
	if err == nil {
		ret, err = loader.ResultAs[*data.Map](fun, first)
	}
	if err == nil {
		was, err = loader.ResultAs[*data.Map](fun, second)
	}
	if err == nil && ret == nil {
		err = fmt.Errorf("%s: returned no result", fun)
	}
	return ret, was, err
}

// checkAccess is CheckPerms on Windows, where a file has an owner and an access control list: the
// further arguments win_perms, win_deny_perms, win_inheritance and win_perms_reset.
func checkAccess(
	ctx context.Context, env *loader.Env, p Permissions,
) (ret, was *data.Map, err error) {
	var changes any
	if p.Changes != nil {
		changes = p.Changes
	}
	ret, err = loader.CallAs[*data.Map](ctx, env, "file.check_perms", []any{p.Path, changes, p.User,
		p.More.Value("win_perms"), p.More.Value("win_deny_perms"), p.More.Value("win_inheritance"),
		data.Truth(p.More.Value("win_perms_reset"))}, nil)
	return ret, data.NewMap(), err
}

// GetDevMM calls file.get_devmm and returns the major and minor number of a device.
func GetDevMM(
	ctx context.Context, env *loader.Env, path string,
) (major, minor any, err error) {
	const fun = "file.get_devmm"
	v, err := env.Call(ctx, fun, []any{path}, nil)
	if err != nil {
		return nil, nil, err
	}
	return pair(fun, v)
}

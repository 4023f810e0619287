package calls

import (
	"context"
	"errors"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A User is the result of user.info.
type User struct {
	Name, Home, Shell string
	UID, GID          int64 // -1 if user.info does not return them
	Groups            []string
}

// UserInfo calls user.info and returns a user; ok is false if there is no such user.
func UserInfo(ctx context.Context, env *loader.Env, name any) (u User, ok bool, err error) {
	const fun = "user.info"
	info, err := Found[*data.Map](ctx, env, fun, []any{name}, nil)
	if err != nil || info.Len() == 0 {
		return User{}, false, err
	}
	var errs [6]error
	u.Name, errs[0] = member[string](fun, info, "name")
	u.Home, errs[1] = member[string](fun, info, "home")
	u.Shell, errs[2] = member[string](fun, info, "shell")
	u.UID, errs[3] = number(fun, info, "uid")
	u.GID, errs[4] = number(fun, info, "gid")
	u.Groups, errs[5] = member[[]string](fun, info, "groups")
	if err := errors.Join(errs[:]...); err != nil {
		return User{}, false, err
	}
	return u, true, nil
}

// ListUsers calls user.list_users and returns the names of all users.
func ListUsers(ctx context.Context, env *loader.Env) ([]string, error) {
	return loader.CallAs[[]string](ctx, env, "user.list_users", nil, nil)
}

// A Group is the result of group.info.
type Group struct {
	Name    string
	GID     int64 // -1 if group.info does not return it
	Members []string
}

// GroupInfo calls group.info and returns a group; ok is false if there is no such group.
func GroupInfo(ctx context.Context, env *loader.Env, name any) (g Group, ok bool, err error) {
	const fun = "group.info"
	info, err := Found[*data.Map](ctx, env, fun, []any{name}, nil)
	if err != nil || info.Len() == 0 {
		return Group{}, false, err
	}
	var errs [3]error
	g.Name, errs[0] = member[string](fun, info, "name")
	g.GID, errs[1] = number(fun, info, "gid")
	g.Members, errs[2] = member[[]string](fun, info, "members")
	if err := errors.Join(errs[:]...); err != nil {
		return Group{}, false, err
	}
	return g, true, nil
}

// number reads a user or group ID, which may be a string; it is -1 if there is none.
func number(fun string, of *data.Map, key string) (int64, error) {
	v := of.Value(key)
	if v == nil {
		return -1, nil
	}
	if text, ok := v.(string); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	return member[int64](fun, of, key)
}

// NumberOf returns the ID of a user from user.info if of is uid, or of a group from group.info if
// it is gid. ok is false if there is no such user or group.
func NumberOf(
	ctx context.Context, env *loader.Env, of, name string,
) (n int64, ok bool, err error) {
	if of == "gid" {
		g, ok, err := GroupInfo(ctx, env, name)
		return g.GID, ok && g.GID >= 0, err
	}
	u, ok, err := UserInfo(ctx, env, name)
	return u.UID, ok && u.UID >= 0, err
}

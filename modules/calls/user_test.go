package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestUser(t *testing.T) {
	user := func(ctx context.Context, e *loader.Env) (any, error) {
		u, ok, err := UserInfo(ctx, e, "ann")
		return []any{ok, u.Name, u.Home, u.Shell, u.UID, u.GID, data.Values(u.Groups)}, err
	}
	group := func(ctx context.Context, e *loader.Env) (any, error) {
		g, ok, err := GroupInfo(ctx, e, "staff")
		return []any{ok, g.Name, g.GID, data.Values(g.Members)}, err
	}
	number := func(of string) func(context.Context, *loader.Env) (any, error) {
		return func(ctx context.Context, e *loader.Env) (any, error) {
			return known(NumberOf(ctx, e, of, "ann"))
		}
	}
	ann := data.NewMap("name", "ann", "home", "/home/ann", "shell", "/bin/sh", "uid", int64(1000),
		"gid", "1001", "groups", []any{"ann", "games"})
	check(t, []client{
		{
			user,
			ann,
			"user.info ['ann'] {}",
			"[True, 'ann', '/home/ann', '/bin/sh', 1000, 1001, ['ann', 'games']]",
		},
		{
			user,
			data.NewMap("name", "ann"),
			"user.info ['ann'] {}",
			"[True, 'ann', '', '', -1, -1, []]",
		},
		{user, data.NewMap(), "user.info ['ann'] {}", "[False, '', '', '', 0, 0, []]"},
		{user, false, "user.info ['ann'] {}", "[False, '', '', '', 0, 0, []]"},
		{user, "ann", "user.info ['ann'] {}", "user.info: returned str, expected dict"},
		{
			user, data.NewMap("home", int64(1), "uid", "ann"), "user.info ['ann'] {}",
			"user.info: home: returned int, expected str\nuser.info: uid: returned str, expected int",
		},
		{
			group, data.NewMap("name", "staff", "gid", int64(50), "members", []any{"ann"}),
			"group.info ['staff'] {}", "[True, 'staff', 50, ['ann']]",
		},
		{
			group, data.NewMap("members", "ann"), "group.info ['staff'] {}",
			"group.info: members: returned str, expected list",
		},
		{number("uid"), ann, "user.info ['ann'] {}", "[1000, True]"},
		{number("gid"), ann.Clone(), "group.info ['ann'] {}", "[1001, True]"},
		{number("gid"), data.NewMap(), "group.info ['ann'] {}", "[0, False]"},
	})
}

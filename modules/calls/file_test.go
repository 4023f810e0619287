package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestFile(t *testing.T) {
	type env = *loader.Env
	uid := func(ctx context.Context, e env) (any, error) { return known(UserToUID(ctx, e, "ann")) }
	sources := func(ctx context.Context, e env) (any, error) {
		source, hash, err := SourceList(ctx, e, []any{"salt://a"}, "12", "base")
		return []any{source, hash}, err
	}
	perms := func(p Permissions) func(context.Context, env) (any, error) {
		return func(ctx context.Context, e env) (any, error) {
			ret, was, err := CheckPerms(ctx, e, p)
			return []any{ret, was}, err
		}
	}
	ret := data.NewMap("result", true)
	check(t, []client{
		{
			func(ctx context.Context, e env) (any, error) {
				return done(Chown(ctx, e, "/a", "ann", nil))
			},
			nil, "file.chown ['/a', 'ann', None] {}", "None",
		},
		{uid, int64(1000), "file.user_to_uid ['ann'] {}", "[1000, True]"},
		{uid, int64(0), "file.user_to_uid ['ann'] {}", "[0, True]"},
		{uid, "", "file.user_to_uid ['ann'] {}", "[0, False]"},
		{
			uid,
			"1000",
			"file.user_to_uid ['ann'] {}",
			"file.user_to_uid: returned str, expected int",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return known(GroupToGID(ctx, e, "staff"))
			},
			int64(50), "file.group_to_gid ['staff'] {}", "[50, True]",
		},
		{
			func(ctx context.Context, e env) (any, error) { return IsLink(ctx, e, "/a") },
			true, "file.is_link ['/a'] {}", "True",
		},
		{
			func(ctx context.Context, e env) (any, error) { return Readlink(ctx, e, "/a") },
			false, "file.readlink ['/a'] {}", "file.readlink: returned bool, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) { return FileExists(ctx, e, "/a") },
			false, "file.file_exists ['/a'] {}", "False",
		},
		{
			func(ctx context.Context, e env) (any, error) { return GetHash(ctx, e, "/a", nil) },
			"12", "file.get_hash ['/a'] {}", "'12'",
		},
		{
			func(ctx context.Context, e env) (any, error) { return GetHash(ctx, e, "/a", "md5") },
			int64(12),
			"file.get_hash ['/a', 'md5'] {}",
			"file.get_hash: returned int, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) { return done(Touch(ctx, e, "/a")) },
			true, "file.touch ['/a'] {}", "None",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return done(Mkdir(ctx, e, "/a", Owned{User: "ann"}))
			},
			nil, "file.mkdir ['/a'] {'user': 'ann'}", "None",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return done(MakeDirs(ctx, e, "/a/b", Owned{"ann", "staff", "0750"}))
			},
			nil, "file.makedirs ['/a/b'] {'user': 'ann', 'group': 'staff', 'mode': '0750'}", "None",
		},
		{
			sources,
			data.Tuple{"salt://a", "12"},
			"file.source_list [['salt://a'], '12', 'base'] {}",
			"['salt://a', '12']",
		},
		{
			sources, []any{"salt://a"}, "file.source_list [['salt://a'], '12', 'base'] {}",
			"file.source_list: returned 1 values, expected 2",
		},
		{
			sources, "salt://a", "file.source_list [['salt://a'], '12', 'base'] {}",
			"file.source_list: returned str, expected list",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				major, minor, err := GetDevMM(ctx, e, "/dev/null")
				return []any{major, minor}, err
			},
			data.Tuple{int64(1), int64(3)}, "file.get_devmm ['/dev/null'] {}", "[1, 3]",
		},
		{
			func(ctx context.Context, e env) (any, error) { return Stats(ctx, e, "/a") },
			"0644",
			"file.stats ['/a'] {'follow_symlinks': False}",
			"file.stats: returned str, expected dict",
		},
		{
			perms(Permissions{Path: "/a"}), []any{ret, data.NewMap("lmode", "0644")},
			"file.check_perms ['/a', None, None, None, None] {}",
			"[{'result': True}, {'lmode': '0644'}]",
		},
		{
			perms(Permissions{
				Path: "/a", Changes: ret, User: "ann", Group: "staff", Mode: "0600", Attrs: "i",
				FollowSymlinks: true, More: data.NewMap("within", "/"),
			}), []any{ret},
			"file.check_perms ['/a', {'result': True}, 'ann', 'staff', '0600'] " +
				"{'within': '/', 'attrs': 'i', 'follow_symlinks': True}",
			"file.check_perms: returned 1 values, expected 2",
		},
		{
			perms(Permissions{Path: "/a"}),
			[]any{true, ret},
			"file.check_perms ['/a', None, None, None, None] {}",
			"file.check_perms: returned bool, expected dict",
		},
		{
			perms(Permissions{Path: "/a"}),
			[]any{nil, ret},
			"file.check_perms ['/a', None, None, None, None] {}",
			"file.check_perms: returned no result",
		},
	})
}

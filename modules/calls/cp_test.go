package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestCp(t *testing.T) {
	type env = *loader.Env
	cached := func(s Source) func(context.Context, env) (any, error) {
		return func(ctx context.Context, e env) (any, error) { return CacheFile(ctx, e, s) }
	}
	template := func(ts Template) func(context.Context, env) (any, error) {
		return func(ctx context.Context, e env) (any, error) { return GetTemplate(ctx, e, ts) }
	}
	list := func(ctx context.Context, e env) (any, error) {
		return texts(ListMaster(ctx, e, "base"))
	}
	check(t, []client{
		{cached(Source{Path: "salt://a"}), "/c/a", "cp.cache_file ['salt://a'] {}", "'/c/a'"},
		{
			cached(Source{Path: "salt://a", SaltEnv: "dev"}),
			false,
			"cp.cache_file ['salt://a', 'dev'] {}",
			"''",
		},
		{
			cached(Source{Path: "http://a", SaltEnv: "dev", Hash: "12", NoVerify: true, UseETag: true}),
			nil,
			"cp.cache_file ['http://a', 'dev'] {'source_hash': '12', 'verify_ssl': False, 'use_etag': True}",
			"''",
		},
		{
			cached(Source{Path: "salt://a"}), int64(3), "cp.cache_file ['salt://a'] {}",
			"cp.cache_file: returned int, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return IsCached(ctx, e, "salt://a", nil)
			},
			"", "cp.is_cached ['salt://a'] {}", "''",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return IsCached(ctx, e, "salt://a", "dev")
			},
			true,
			"cp.is_cached ['salt://a', 'dev'] {}",
			"cp.is_cached: returned bool, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return HashFile(ctx, e, "salt://a", "dev")
			},
			data.NewMap("hsum", "12"), "cp.hash_file ['salt://a', 'dev'] {}", "{'hsum': '12'}",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return HashFile(ctx, e, "salt://a", "dev")
			},
			"12",
			"cp.hash_file ['salt://a', 'dev'] {}",
			"cp.hash_file: returned str, expected dict",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return GetFile(ctx, e, "salt://a", "/a", "dev")
			},
			"/a", "cp.get_file ['salt://a', '/a', 'dev'] {}", "'/a'",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return GetFile(ctx, e, "salt://a", "/a", nil)
			},
			[]any{"/a"},
			"cp.get_file ['salt://a', '/a'] {}",
			"cp.get_file: returned list, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return GetURL(ctx, e, "salt://a", "dev")
			},
			false, "cp.get_url ['salt://a'] {'saltenv': 'dev'}", "''",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return known(GetURLText(ctx, e, "http://a"))
			},
			"", "cp.get_url ['http://a', None] {}", "['', True]",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return known(GetURLText(ctx, e, "http://a"))
			},
			false, "cp.get_url ['http://a', None] {}", "['', False]",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return known(GetURLText(ctx, e, "http://a"))
			},
			int64(1), "cp.get_url ['http://a', None] {}", "cp.get_url: returned int, expected str",
		},
		{
			template(Template{Path: "salt://a"}),
			"/t",
			"cp.get_template [] {'path': 'salt://a', 'dest': ''}",
			"'/t'",
		},
		{
			template(Template{
				Path:     "salt://a",
				Dest:     "/b",
				Engine:   "mako",
				SaltEnv:  "dev",
				Context:  data.NewMap("x", int64(1)),
				Defaults: data.NewMap("y", int64(2)),
				More:     data.NewMap("z", int64(3), "dest", "/other"),
			}), "", "cp.get_template [] {'z': 3, 'dest': '/b', 'path': 'salt://a', 'template': 'mako', " +
				"'saltenv': 'dev', 'context': {'x': 1}, 'defaults': {'y': 2}}", "''",
		},
		{
			template(Template{Path: "a"}), data.NewMap("a", "b"),
			"cp.get_template [] {'path': 'a', 'dest': ''}",
			"cp.get_template: returned dict, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return StatFile(ctx, e, "salt://a", "dev")
			},
			"0644", "cp.stat_file ['salt://a'] {'saltenv': 'dev', 'octal': True}", "'0644'",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return StatFile(ctx, e, "salt://a", nil)
			},
			int64(420),
			"cp.stat_file ['salt://a'] {'octal': True}",
			"cp.stat_file: returned int, expected str",
		},
		{list, []any{"a", "b"}, "cp.list_master ['base'] {}", "['a', 'b']"},
		{list, false, "cp.list_master ['base'] {}", "[]"},
		{list, "a", "cp.list_master ['base'] {}", "cp.list_master: returned str, expected list"},
		{
			list,
			[]any{int64(1)},
			"cp.list_master ['base'] {}",
			"cp.list_master: returned int in its list, expected str",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return texts(ListMasterDirs(ctx, e, "base", "web"))
			},
			[]any{"web/a"}, "cp.list_master_dirs ['base', 'web'] {}", "['web/a']",
		},
		{
			func(ctx context.Context, e env) (any, error) {
				return ListMasterSymlinks(ctx, e, "base", "web")
			},
			[]any{"a"}, "cp.list_master_symlinks ['base', 'web'] {}",
			"cp.list_master_symlinks: returned list, expected dict",
		},
	})
}

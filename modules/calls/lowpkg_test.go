package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A clientCase is a call of a wrapper: the module's result, the expected call, and the expected
// result.
type clientCase struct {
	call   func(ctx context.Context, env *loader.Env) (any, error)
	answer any
	sent   string
	want   any
	err    string
}

func checkClients(t *testing.T, cases []clientCase) {
	t.Helper()
	for _, c := range cases {
		env, call := recordingEnv(c.answer, nil)
		got, err := c.call(t.Context(), env)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if *call != c.sent || text != c.err || err == nil && data.Repr(got) != data.Repr(c.want) {
			t.Errorf("answer %s\n called %s\n   want %s\n result %s, %q\n   want %s, %q", data.Repr(c.answer),
				*call, c.sent, data.Repr(got), text, data.Repr(c.want), c.err)
		}
	}
}

func TestLowpkg(t *testing.T) {
	info := func(ctx context.Context, env *loader.Env) (any, error) {
		p, ok, err := BinPkgInfo(ctx, env, "/a.rpm")
		return []any{p.Name, p.Version, p.Arch, ok}, err
	}
	sound := func(ctx context.Context, env *loader.Env) (any, error) { return PackageChecksum(ctx, env, "/a", nil) }
	owner := func(ctx context.Context, env *loader.Env) (any, error) {
		return PackageOwner(ctx, env, "/bin/ls", data.NewMap("root", "/r"))
	}
	diff := func(ctx context.Context, env *loader.Env) (any, error) {
		return PackageDiff(ctx, env, "/a.rpm", "/etc/a")
	}
	checkClients(t, []clientCase{
		{info, data.NewMap("name", "a", "version", "1", "arch", "noarch"),
			"lowpkg.bin_pkg_info ['/a.rpm'] {}", []any{"a", "1", "noarch", true}, ""},
		{info, nil, "lowpkg.bin_pkg_info ['/a.rpm'] {}", []any{"", "", "", false}, ""},
		{info, "a", "lowpkg.bin_pkg_info ['/a.rpm'] {}", nil,
			"lowpkg.bin_pkg_info: returned str, expected dict"},
		{sound, data.NewMap("/a", true), "lowpkg.checksum ['/a'] {'root': None}", true, ""},
		{sound, data.NewMap("/a", false), "lowpkg.checksum ['/a'] {'root': None}", false, ""},
		{sound, true, "lowpkg.checksum ['/a'] {'root': None}", nil,
			"lowpkg.checksum: returned bool, expected dict"},
		{owner, "coreutils", "lowpkg.owner ['/bin/ls'] {'root': '/r'}", "coreutils", ""},
		{owner, data.NewMap(), "lowpkg.owner ['/bin/ls'] {'root': '/r'}", nil,
			"lowpkg.owner: returned dict, expected str"},
		{diff, "", "lowpkg.diff ['/a.rpm', '/etc/a'] {}", "", ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return PackageInfo(ctx, env, []any{"a"}, data.NewMap("failhard", false))
		}, data.NewMap("a", data.NewMap()), "lowpkg.info ['a'] {'failhard': False}",
			data.NewMap("a", data.NewMap()), ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return Unpurge(ctx, env, []string{"a", "b"})
		}, nil, "lowpkg.unpurge ['a', 'b'] {}", data.NewMap(), ""},
	})
}

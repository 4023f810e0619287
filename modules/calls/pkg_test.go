package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestListPkgs(t *testing.T) {
	given := data.NewMap("versions_as_list", false, "root", "/r")
	for want, l := range map[string]PkgList{
		"{}": {},
		"{'versions_as_list': True, 'root': '/r'}": {AsLists: true, More: given},
		"{'removed': True, 'purge_desired': True, 'use_context': False}": {Removed: true,
			PurgeDesired: true, Fresh: true},
		"{'versions_as_list': True, 'root': '/r', 'use_context': False}": {AsLists: true,
			Fresh: true, More: given},
		"{'versions_as_list': False, 'root': '/r', 'removed': True}": {Removed: true, More: given},
		"{'versions_as_list': True, 'removed': True, 'purge_desired': True}": {AsLists: true,
			Removed: true, PurgeDesired: true},
		"{'versions_as_list': False, 'root': '/r', 'purge_desired': True}": {PurgeDesired: true,
			More: given},
	} {
		env, call := recordingEnv(nil, nil)
		if all, err := ListPkgs(t.Context(), env, l); all == nil || err != nil ||
			*call != "pkg.list_pkgs [] "+want {
			t.Errorf("ListPkgs(%+v) = %v, %v\n called %s\nwant %s", l, all, err, *call, want)
		}
	}
	if given.Value("versions_as_list") != false {
		t.Error("the caller's arguments were changed")
	}
}

func TestListsOfVersions(t *testing.T) {
	env, _ := recordingEnv(data.NewMap("a", "1"), nil)
	if _, err := ListPkgs(t.Context(), env, PkgList{AsLists: true}); err == nil ||
		err.Error() != "pkg.list_pkgs: returned str for a, expected list" {
		t.Errorf("a text in place of a list: %v", err)
	}
}

func TestVersions(t *testing.T) {
	latest := func(names ...string) func(ctx context.Context, env *loader.Env) (any, error) {
		return func(ctx context.Context, env *loader.Env) (any, error) {
			return LatestVersion(ctx, env, names, data.NewMap("refresh", true))
		}
	}
	version := func(ctx context.Context, env *loader.Env) (any, error) {
		return PkgVersion(ctx, env, []string{"a"}, nil)
	}
	order := func(ctx context.Context, env *loader.Env) (any, error) {
		n, ok, err := VersionCmp(ctx, env, "1", "2", false)
		return []any{int64(n), ok}, err
	}
	arch := func(ctx context.Context, env *loader.Env) (any, error) {
		name, arch, err := ParseArch(ctx, env, "zsh:amd64")
		return []any{name, arch}, err
	}
	checkClients(t, []clientCase{
		{latest("a"), "2", "pkg.latest_version ['a'] {'refresh': True}", data.NewMap("a", "2"), ""},
		{latest("a"), nil, "pkg.latest_version ['a'] {'refresh': True}", data.NewMap("a", nil), ""},
		{latest("a", "b"), data.NewMap("a", "2"), "pkg.latest_version ['a', 'b'] {'refresh': True}",
			data.NewMap("a", "2"), ""},
		{latest("a", "b"), "2", "pkg.latest_version ['a', 'b'] {'refresh': True}", nil,
			"pkg.latest_version: returned str, expected dict"},
		{version, "1", "pkg.version ['a'] {}", data.NewMap("a", "1"), ""},
		{version, int64(1), "pkg.version ['a'] {}", nil, "pkg.version: returned int, expected dict"},
		{order, int64(-1), "pkg.version_cmp ['1', '2'] {'ignore_epoch': False}", []any{int64(-1), true}, ""},
		{order, nil, "pkg.version_cmp ['1', '2'] {'ignore_epoch': False}", []any{int64(0), false}, ""},
		{order, "less", "pkg.version_cmp ['1', '2'] {'ignore_epoch': False}", []any{int64(0), false}, ""},
		{arch, data.NewMap("name", "zsh", "arch", "amd64"), "pkg.parse_arch ['zsh:amd64'] {}",
			[]any{"zsh", "amd64"}, ""},
		{arch, data.NewMap("name", "zsh", "arch", nil), "pkg.parse_arch ['zsh:amd64'] {}",
			[]any{"zsh", nil}, ""},
		{arch, "zsh", "pkg.parse_arch ['zsh:amd64'] {}", nil, "pkg.parse_arch: returned str, expected dict"},
		{func(ctx context.Context, env *loader.Env) (any, error) { return NormalizeName(ctx, env, "zsh:amd64") },
			"zsh", "pkg.normalize_name ['zsh:amd64'] {}", "zsh", ""},
	})
}

func TestChangesOfPackages(t *testing.T) {
	more, changes := data.NewMap("refresh", true), data.NewMap("a", data.NewMap("old", "", "new", "1"))
	in := func(call func(context.Context, *loader.Env, *data.Map) (*data.Map, error)) func(context.Context, *loader.Env) (any, error) {
		return func(ctx context.Context, env *loader.Env) (any, error) { return call(ctx, env, more) }
	}
	checkClients(t, []clientCase{
		{in(PkgInstall), changes, "pkg.install [] {'refresh': True}", changes, ""},
		{in(PkgInstall), nil, "pkg.install [] {'refresh': True}", data.NewMap(), ""},
		{in(PkgInstall), false, "pkg.install [] {'refresh': True}", nil,
			"pkg.install: returned bool, expected dict"},
		{in(PkgUpgrade), changes, "pkg.upgrade [] {'refresh': True}", changes, ""},
		{in(ListUpgrades), changes, "pkg.list_upgrades [] {'refresh': True}", changes, ""},
		{in(ListDownloaded), changes, "pkg.list_downloaded [] {'refresh': True}", changes, ""},
		{in(ListInstalledPatches), changes, "pkg.list_installed_patches [] {'refresh': True}", changes, ""},
		{in(ListDownloaded), data.NewMap("a", "1"), "pkg.list_downloaded [] {'refresh': True}", nil,
			"pkg.list_downloaded: returned str for a, expected dict"},
		{in(ListProvides), data.NewMap("a", []any{"b"}), "pkg.list_provides [] {'refresh': True}",
			data.NewMap("a", []any{"b"}), ""},
		{in(ListProvides), changes, "pkg.list_provides [] {'refresh': True}", nil,
			"pkg.list_provides: returned dict for a, expected list"},
		{in(ExpandRepoDef), changes, "pkg.expand_repo_def [] {'refresh': True}", changes, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return PkgRemove(ctx, env, "a", more) },
			changes, "pkg.remove ['a'] {'refresh': True}", changes, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return PkgPurge(ctx, env, "a", more) },
			changes, "pkg.purge ['a'] {'refresh': True}", changes, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return CheckDB(ctx, env, []string{"a"}, more) },
			changes, "pkg.check_db ['a'] {'refresh': True}", changes, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return PkgVerify(ctx, env, "a", more) },
			changes, "pkg.verify ['a'] {'refresh': True}", changes, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return GetRepo(ctx, env, "r", more) },
			nil, "pkg.get_repo ['r'] {'refresh': True}", data.NewMap(), ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return nil, ModRepo(ctx, env, "r", more) },
			true, "pkg.mod_repo ['r'] {'refresh': True}", nil, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return nil, DelRepo(ctx, env, "r", nil) },
			"done", "pkg.del_repo ['r'] {}", nil, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return nil, RefreshDB(ctx, env) },
			false, "pkg.refresh_db [] {}", nil, ""},
	})
}

func TestGroupDiff(t *testing.T) {
	group := func(ctx context.Context, env *loader.Env) (any, error) {
		diff, err := GroupDiff(ctx, env, "web")
		return []any{data.Values(diff["default"].Installed), data.Values(diff["default"].Missing),
			int64(len(diff))}, err
	}
	sent := "pkg.group_diff ['web'] {}"
	checkClients(t, []clientCase{
		{group, data.NewMap("default", data.NewMap("installed", []any{"a"},
			"not installed", []any{"b", "c"}), "optional", data.NewMap()), sent,
			[]any{[]any{"a"}, []any{"b", "c"}, int64(2)}, ""},
		{group, nil, sent, []any{[]any{}, []any{}, int64(0)}, ""},
		{group, data.NewMap("default", []any{}), sent, nil,
			"pkg.group_diff: returned list for default, expected dict"},
		{group, data.NewMap("default", data.NewMap("installed", "a")), sent, nil,
			"pkg.group_diff: returned str for installed, expected list"},
	})
}

func TestHolds(t *testing.T) {
	all := data.NewMap("a", data.NewMap("result", true))
	selections := func(ctx context.Context, env *loader.Env) (any, error) {
		names, err := GetSelections(ctx, env, "hold")
		return data.Values(names), err
	}
	holds := func(ctx context.Context, env *loader.Env) (any, error) {
		names, err := ListHolds(ctx, env)
		return data.Values(names), err
	}
	resolved := func(ctx context.Context, env *loader.Env) (any, error) {
		return ResolveCapabilities(ctx, env, []any{"w3m_ssl"}, data.NewMap("refresh", false))
	}
	hold := func(ctx context.Context, env *loader.Env) (any, error) { return Hold(ctx, env, "web", []any{"a"}) }
	refused, sent := data.NewMap("result", false, "comment", "no"),
		"pkg.hold [] {'name': 'web', 'pkgs': ['a']}"
	checkClients(t, []clientCase{
		{hold, refused, sent, refused, ""},
		{hold, data.NewMap("a", true), sent, nil, "pkg.hold: returned bool for a, expected dict"},
		{hold, data.NewMap("a", data.NewMap("changes", "hold")), sent, nil,
			"pkg.hold: returned changes of type str for a, expected dict"},
		{func(ctx context.Context, env *loader.Env) (any, error) { return Hold(ctx, env, "web", []any{"a"}) },
			all, "pkg.hold [] {'name': 'web', 'pkgs': ['a']}", all, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return Unhold(ctx, env, "web", []any{"a"}) },
			all, "pkg.unhold [] {'name': 'web', 'pkgs': ['a']}", all, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return ListLocks(ctx, env) },
			all, "pkg.list_locks [] {}", all, ""},
		{holds, []any{"a-1"}, "pkg.list_holds [] {'full': True}", []any{"a-1"}, ""},
		{holds, data.NewMap(), "pkg.list_holds [] {'full': True}", nil,
			"pkg.list_holds: returned dict, expected list"},
		{selections, data.NewMap("hold", []any{"a"}), "pkg.get_selections [] {'state': 'hold'}",
			[]any{"a"}, ""},
		{selections, data.NewMap(), "pkg.get_selections [] {'state': 'hold'}", []any{}, ""},
		{selections, data.NewMap("hold", "a"), "pkg.get_selections [] {'state': 'hold'}", nil,
			"pkg.get_selections: returned hold of type str, expected list"},
		{resolved, []any{"w3m"}, "pkg.resolve_capabilities [['w3m_ssl']] {'refresh': False}",
			[]any{"w3m"}, ""},
		{resolved, "w3m", "pkg.resolve_capabilities [['w3m_ssl']] {'refresh': False}", nil,
			"pkg.resolve_capabilities: returned str, expected list"},
	})
}

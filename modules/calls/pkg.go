package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// dictionary calls a function that returns a dictionary; None becomes an empty one.
func dictionary(
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (*data.Map, error) {
	all, err := loader.CallAs[*data.Map](ctx, env, fun, args, kwargs)
	if err == nil && all == nil {
		all = &data.Map{}
	}
	return all, err
}

// dictionaryOf is like dictionary, and checks that all values have the type V.
func dictionaryOf[V any](
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (*data.Map, error) {
	all, err := dictionary(ctx, env, fun, args, kwargs)
	if err == nil {
		err = valuesAre[V](fun, all)
	}
	return all, err
}

// valuesAre returns an error unless all values of a dictionary have the type V.
func valuesAre[V any](fun string, all *data.Map) error {
	for name, v := range all.All() {
		if _, ok := v.(V); !ok {
			var wanted V
			return fmt.Errorf("%s: returned %s for %s, expected %s",
				fun, loader.TypeName(v), data.Str(name), loader.TypeName(wanted))
		}
	}
	return nil
}

// A PkgList selects the packages that ListPkgs returns, and their form. Fields with their zero
// value are not passed on.
type PkgList struct {
	// versions_as_list: a list of versions for each package instead of a string
	AsLists      bool
	Removed      bool      // removed: packages that were removed but not purged
	PurgeDesired bool      // purge_desired: packages that are marked to be purged
	Fresh        bool      // use_context False: ignore the list cached in the job's context
	More         *data.Map // further arguments by name; the fields above override them
}

// ListPkgs calls pkg.list_pkgs and returns the versions of packages by name.
func ListPkgs(ctx context.Context, env *loader.Env, l PkgList) (*data.Map, error) {
	kwargs := l.More.Clone()
	set := func(name string, given, value bool) {
		if given {
			kwargs.Set(name, value)
		}
	}
	set("versions_as_list", l.AsLists, true)
	set("removed", l.Removed, true)
	set("purge_desired", l.PurgeDesired, true)
	set("use_context", l.Fresh, false)
	if l.AsLists {
		return dictionaryOf[[]any](ctx, env, "pkg.list_pkgs", nil, kwargs)
	}
	return dictionary(ctx, env, "pkg.list_pkgs", nil, kwargs)
}

// LatestVersion calls pkg.latest_version and returns by name the versions that packages can be
// upgraded to, or "" for packages that are up to date.
func LatestVersion(
	ctx context.Context, env *loader.Env, names []string, more *data.Map,
) (*data.Map, error) {
	return named(ctx, env, "pkg.latest_version", names, more)
}

// PkgVersion calls pkg.version and returns by name the versions of installed packages.
func PkgVersion(
	ctx context.Context, env *loader.Env, names []string, more *data.Map,
) (*data.Map, error) {
	return named(ctx, env, "pkg.version", names, more)
}

// named calls a function that returns a string for one name and a dictionary for several.
func named(
	ctx context.Context, env *loader.Env, fun string, names []string, kwargs *data.Map,
) (*data.Map, error) {
	v, err := loader.CallAs[any](ctx, env, fun, data.Values(names), kwargs)
	if err != nil {
		return nil, err
	}
	if all, ok := v.(*data.Map); ok {
		return all, nil
	}
	_, isText := v.(string)
	if (isText || v == nil) && len(names) == 1 {
		return data.NewMap(names[0], v), nil
	}
	return nil, fmt.Errorf("%s: returned %s, expected dict", fun, loader.TypeName(v))
}

// VersionCmp calls pkg.version_cmp and compares two versions: the order is below 0, 0 or above 0.
// ok is false if the result is None or not a number, which Salt treats as versions that cannot be
// compared (salt/utils/versions.py, compare).
func VersionCmp(
	ctx context.Context, env *loader.Env, a, b any, ignoreEpoch bool,
) (order int, ok bool, err error) {
	kwargs := data.NewMap("ignore_epoch", ignoreEpoch)
	v, err := loader.CallAs[any](ctx, env, "pkg.version_cmp", []any{a, b}, kwargs)
	n, ok := v.(int64)
	return int(n), ok, err
}

// NormalizeName calls pkg.normalize_name and returns a package name without the host's own
// architecture.
func NormalizeName(ctx context.Context, env *loader.Env, name string) (string, error) {
	return loader.CallAs[string](ctx, env, "pkg.normalize_name", []any{name}, nil)
}

// ParseArch calls pkg.parse_arch and splits a name into the package name and the architecture, nil
// if there is none.
func ParseArch(
	ctx context.Context, env *loader.Env, name string,
) (bare string, arch any, err error) {
	both, err := loader.CallAs[*data.Map](ctx, env, "pkg.parse_arch", []any{name}, nil)
	return both.Text("name"), both.Value("arch"), err
}

// PkgInstall calls pkg.install and returns the changes by package.
func PkgInstall(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.install", nil, kwargs)
}

// PkgRemove calls pkg.remove and returns the changes by package.
func PkgRemove(
	ctx context.Context, env *loader.Env, name any, more *data.Map,
) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.remove", []any{name}, more)
}

// PkgPurge calls pkg.purge and returns the changes.
func PkgPurge(
	ctx context.Context, env *loader.Env, name any, more *data.Map,
) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.purge", []any{name}, more)
}

// PkgUpgrade calls pkg.upgrade and returns the changes by package.
func PkgUpgrade(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.upgrade", nil, kwargs)
}

// ListUpgrades calls pkg.list_upgrades and returns by name the versions that packages can be
// upgraded to.
func ListUpgrades(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.list_upgrades", nil, kwargs)
}

// ListDownloaded calls pkg.list_downloaded and returns the downloaded packages by name and version.
func ListDownloaded(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionaryOf[*data.Map](ctx, env, "pkg.list_downloaded", nil, kwargs)
}

// ListInstalledPatches calls pkg.list_installed_patches and returns patches by name.
func ListInstalledPatches(
	ctx context.Context, env *loader.Env, kwargs *data.Map,
) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.list_installed_patches", nil, kwargs)
}

// ListProvides calls pkg.list_provides and returns lists of packages by the capability they
// provide.
func ListProvides(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionaryOf[[]any](ctx, env, "pkg.list_provides", nil, kwargs)
}

// CheckDB calls pkg.check_db and returns by name whether the repositories have each package.
func CheckDB(
	ctx context.Context, env *loader.Env, names []string, more *data.Map,
) (*data.Map, error) {
	return dictionaryOf[*data.Map](ctx, env, "pkg.check_db", data.Values(names), more)
}

// GroupMembers are the packages of a group by kind: mandatory, default, optional or conditional.
type GroupMembers map[string]struct{ Installed, Missing []string }

// GroupDiff calls pkg.group_diff and returns which packages of a group are installed.
func GroupDiff(ctx context.Context, env *loader.Env, group any) (GroupMembers, error) {
	const fun = "pkg.group_diff"
	diff, err := dictionaryOf[*data.Map](ctx, env, fun, []any{group}, nil)
	if err != nil {
		return nil, err
	}
	members := GroupMembers{}
	for kind, v := range diff.All() {
		some := v.(*data.Map)
		if err := valuesAre[[]any](fun, some); err != nil {
			return nil, err
		}
		one := members[data.Str(kind)]
		one.Installed = data.TextsOf(some.Value("installed"))
		one.Missing = data.TextsOf(some.Value("not installed"))
		members[data.Str(kind)] = one
	}
	return members, nil
}

// PkgVerify calls pkg.verify and returns the altered files of a package.
func PkgVerify(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.verify", []any{name}, more)
}

// ResolveCapabilities calls pkg.resolve_capabilities and returns a list of packages in which
// capabilities are replaced by the packages that provide them.
func ResolveCapabilities(
	ctx context.Context, env *loader.Env, pkgs any, more *data.Map,
) ([]any, error) {
	return loader.CallAs[[]any](ctx, env, "pkg.resolve_capabilities", []any{pkgs}, more)
}

// Hold calls pkg.hold and returns a result for each package, with changes, result and comment; or
// only these three for a call that failed as a whole. name is the name of the state.
func Hold(ctx context.Context, env *loader.Env, name any, pkgs []any) (*data.Map, error) {
	return setHold(ctx, env, "pkg.hold", name, pkgs)
}

// Unhold calls pkg.unhold and returns the same as Hold.
func Unhold(ctx context.Context, env *loader.Env, name any, pkgs []any) (*data.Map, error) {
	return setHold(ctx, env, "pkg.unhold", name, pkgs)
}

func setHold(
	ctx context.Context, env *loader.Env, fun string, name any, pkgs []any,
) (*data.Map, error) {
	all, err := dictionary(ctx, env, fun, nil, data.NewMap("name", name, "pkgs", pkgs))
	if err != nil || all.Has("result") {
		return all, err
	}
	if err := valuesAre[*data.Map](fun, all); err != nil {
		return nil, err
	}
	for pkg, one := range all.All() {
		changes := one.(*data.Map).Value("changes")
		if _, ok := changes.(*data.Map); !ok && changes != nil {
			return nil, fmt.Errorf("%s: returned changes of type %s for %s, expected dict",
				fun, loader.TypeName(changes), data.Str(pkg))
		}
	}
	return all, nil
}

// ListHolds calls pkg.list_holds and returns the held packages with their versions.
func ListHolds(ctx context.Context, env *loader.Env) ([]string, error) {
	return loader.CallAs[[]string](ctx, env, "pkg.list_holds", nil, data.NewMap("full", true))
}

// ListLocks calls pkg.list_locks and returns the locked packages by name.
func ListLocks(ctx context.Context, env *loader.Env) (*data.Map, error) {
	return dictionaryOf[*data.Map](ctx, env, "pkg.list_locks", nil, nil)
}

// GetSelections calls pkg.get_selections and returns the names of packages in a state such as hold.
func GetSelections(ctx context.Context, env *loader.Env, state string) ([]string, error) {
	const fun = "pkg.get_selections"
	all, err := loader.CallAs[*data.Map](ctx, env, fun, nil, data.NewMap("state", state))
	if err != nil || all.Value(state) == nil {
		return nil, err
	}
	list, ok := all.Value(state).([]any)
	if !ok {
		return nil, fmt.Errorf("%s: returned %s of type %s, expected list",
			fun, state, loader.TypeName(all.Value(state)))
	}
	return data.Texts(list), nil
}

// RefreshDB calls pkg.refresh_db, which refreshes the package manager's lists of packages.
func RefreshDB(ctx context.Context, env *loader.Env) error {
	_, err := loader.CallAs[any](ctx, env, "pkg.refresh_db", nil, nil)
	return err
}

// GetRepo calls pkg.get_repo and returns the configuration of a repository; it is empty if there is
// none.
func GetRepo(
	ctx context.Context, env *loader.Env, repo string, more *data.Map,
) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.get_repo", []any{repo}, more)
}

// ExpandRepoDef calls pkg.expand_repo_def and returns the result that GetRepo should have for a
// repository configured with the given arguments.
func ExpandRepoDef(ctx context.Context, env *loader.Env, kwargs *data.Map) (*data.Map, error) {
	return dictionary(ctx, env, "pkg.expand_repo_def", nil, kwargs)
}

// ModRepo calls pkg.mod_repo, which configures a repository.
func ModRepo(ctx context.Context, env *loader.Env, repo string, more *data.Map) error {
	_, err := loader.CallAs[any](ctx, env, "pkg.mod_repo", []any{repo}, more)
	return err
}

// DelRepo calls pkg.del_repo, which removes a repository.
func DelRepo(ctx context.Context, env *loader.Env, repo string, more *data.Map) error {
	_, err := loader.CallAs[any](ctx, env, "pkg.del_repo", []any{repo}, more)
	return err
}

// Package zypperpkg is Salt's module pkg on SUSE systems (salt/modules/zypperpkg.py).
//
// Differences from Salt 3006.0: versions are compared by RPM's rules. A package that was downloaded
// with a wrong checksum counts as not downloaded.
package zypperpkg

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module pkg for zypper.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "zypperpkg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Text("os_family") != "Suse" {
		return nil, errors.New("Module zypper: non SUSE OS not supported by zypper package manager") //nolint:staticcheck // Salt's text
	}
	if process.Find("zypper") == "" {
		return nil, errors.New("Module zypper: zypper package manager not found") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: slices.Concat(m.packageFuncs(), m.otherFuncs())}, nil
}

func (m *module) packageFuncs() []loader.Func {
	return []loader.Func{
		loader.F("available_version", m.latestVersion),
		loader.F("info_available", m.infoAvailable),
		loader.F("info_installed", m.infoInstalled),
		loader.F("install", m.install),
		loader.F("latest_version", m.latestVersion),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("list_repo_pkgs", m.listRepoPkgs),
		loader.F("list_updates", m.listUpgrades),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("normalize_name", m.normalizeName),
		loader.F("parse_arch", m.parseArch),
		loader.F("purge", m.purge),
		loader.F("refresh_db", m.refreshDB),
		loader.F("remove", m.remove),
		loader.F("search", m.search),
		loader.F("upgrade", m.upgrade),
		loader.F("upgrade_available", m.upgradeAvailable),
		loader.F("version", m.version),
		loader.F("version_cmp", m.versionCmp),
	}
}

func (m *module) otherFuncs() []loader.Func {
	return []loader.Func{
		loader.F("clean_locks", m.cleanLocks),
		loader.F("del_repo", m.delRepo),
		loader.F("diff", m.diff),
		loader.F("download", m.download),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("get_repo", m.getRepo),
		loader.F("hold", m.hold),
		loader.F("list_downloaded", m.listDownloaded),
		loader.F("list_holds", m.listHolds),
		loader.F("list_installed_patches", m.listInstalledPatches),
		loader.F("list_installed_patterns", m.listInstalledPatterns),
		loader.F("list_locks", m.listLocks),
		loader.F("list_patches", m.listPatches),
		loader.F("list_patterns", m.listPatterns),
		loader.F("list_products", m.listProducts),
		loader.F("list_provides", m.listProvides),
		loader.F("list_repos", m.listRepos),
		loader.F("mod_repo", m.modRepo),
		loader.F("modified", m.modified),
		loader.F("owner", m.owner),
		loader.F("resolve_capabilities", m.resolveCapabilities),
		loader.F("services_need_restart", m.servicesNeedRestart),
		loader.F("unhold", m.unhold),
		loader.F("verify", m.verify),
	}
}

func (m *module) osArch() string { return m.env.GrainsNow().Text("osarch") }

// path returns the path of a system file, or of a file below another root directory.
func (m *module) path(root any, p string) string {
	if data.Truth(root) {
		return filepath.Join("/", m.env.Root, data.Str(root), p)
	}
	return filepath.Join("/", m.env.Root, p)
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

type namesArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// version returns the installed versions of packages: a text for one package, a dictionary for
// several. It is empty if a package is not installed.
//
// CLI Example:
//
//	salt '*' pkg.version vim zsh
func (m *module) version(ctx context.Context, a namesArgs) (any, error) {
	v, err := m.env.Call(ctx, "pkg_resource.version", a.Names, packages.Own(a.Kwargs))
	if err == nil && !data.Truth(v) {
		return &data.Map{}, nil
	}
	return v, err
}

type cmpArgs struct {
	Ver1, Ver2  any
	IgnoreEpoch any       `default:"False"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// versionCmp compares two versions: -1 if the first is older, 0 if they are equal, 1 if it is
// newer.
//
// ignore_epoch : False
//
//	Ignore everything up to the first colon of each version.
//
// CLI Example:
//
//	salt '*' pkg.version_cmp '0.2-001' '0.2.0.1-002'
func (m *module) versionCmp(_ context.Context, a cmpArgs) (any, error) {
	return rpm.VersionCmp(a.Ver1, a.Ver2, a.IgnoreEpoch), nil
}

type nameArgs struct{ Name string }

// normalizeName removes the architecture from the name of a package if it is that of the host.
//
// CLI Example:
//
//	salt '*' pkg.normalize_name zsh.x86_64
func (m *module) normalizeName(_ context.Context, a nameArgs) (any, error) {
	return rpm.Normalize(a.Name, m.osArch()), nil
}

// parseArch splits the name of a package into the bare name and the architecture.
//
// CLI Example:
//
//	salt '*' pkg.parse_arch zsh.x86_64
func (m *module) parseArch(_ context.Context, a nameArgs) (any, error) {
	return rpm.ParseArch(a.Name), nil
}

type listPkgsArgs struct {
	VersionsAsList any       `default:"False"`
	Root           any       `default:"None"`
	Includes       any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listPkgs returns the versions of all installed packages.
//
// versions_as_list
//
//	True: a list for each package instead of a text with commas.
//
// root
//
//	A directory to use as the root directory.
//
// includes
//
//	Other kinds to list as kind:name: a list of product, pattern and patch.
//
// attr
//
//	The details to return for each version: all, or a list of epoch, version, release, arch,
//	install_date and install_date_time_t.
//
// CLI Example:
//
//	salt '*' pkg.list_pkgs attr=version,arch
func (m *module) listPkgs(ctx context.Context, a listPkgsArgs) (*data.Map, error) {
	if packages.NoneInstalled(a.Kwargs) {
		return &data.Map{}, nil
	}
	attr := a.Kwargs.Value("attr")
	if text, ok := attr.(string); ok && text != "all" {
		var list []any
		for w := range strings.SplitSeq(text, ",") {
			list = append(list, strings.TrimSpace(w))
		}
		attr = list
	}
	key := "pkg.list_pkgs_" + data.Str(a.Root) + "_" + data.Repr(a.Includes)
	seen, _ := loader.ContextOf(ctx).Get(key)
	all, ok := seen.(*data.Map)
	if !ok || a.Kwargs.Value("use_context") == false {
		args := []any{"rpm"}
		if data.Truth(a.Root) {
			args = append(args, "--root", a.Root)
		}
		out, err := packages.Run(ctx, m.env, packages.Quietly(),
			append(args, "-qa", "--queryformat", rpm.Format+"\n")...)
		if err != nil {
			return nil, err
		}
		all = rpm.ParseInstalled(out.Stdout, m.osArch())
		for name := range all.Clone().All() {
			if strings.HasPrefix(data.Str(name), "gpg-pubkey") {
				all.Delete(name)
			}
		}
		if err := m.include(ctx, all, listOf(a.Includes), a.Root); err != nil {
			return nil, err
		}
		loader.ContextOf(ctx).Set(key, all)
	}
	return calls.FormatPkgList(ctx, m.env, all, packages.True(a.VersionsAsList), attr)
}

// include adds the installed objects of other kinds.
func (m *module) include(ctx context.Context, all *data.Map, kinds []any, root any) error {
	add := func(name string, p *data.Map) {
		one := data.NewMap("epoch", nil, "version", nil, "release", nil, "arch", nil,
			"install_date", nil, "install_date_time_t", nil)
		for _, k := range []string{"epoch", "version", "release", "arch"} {
			one.Set(k, p.Value(k))
		}
		all.Set(name, []any{one})
	}
	for _, kind := range kinds {
		switch kind {
		case "product":
			products, err := m.products(ctx, false, root)
			if err != nil {
				return err
			}
			for _, p := range products {
				add("product:"+p.Text("name"), p)
			}
		case "pattern", "patch":
			list, err := m.installedKind(ctx, data.Str(kind), root)
			if err != nil {
				return err
			}
			for name := range list.All() {
				full := data.Str(kind) + ":" + data.Str(name)
				info, err := m.available(ctx, []any{full},
					data.NewMap("refresh", false, "root", root))
				if err != nil {
					return err
				}
				p, _ := info.Value(name).(*data.Map)
				add(full, data.NewMap("version", p.Value("version"), "arch", p.Value("arch")))
			}
		}
	}
	return nil
}

// kindsOf returns the kinds that precede names, as in pattern:base.
func kindsOf(names []any) []any {
	var kinds []string
	for _, n := range names {
		if kind, _, ok := strings.Cut(data.Str(n), ":"); ok {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return data.Values(slices.Compact(kinds))
}

// installed returns the installed versions without using a cache. attr and includes are as in
// pkg.list_pkgs.
func (m *module) installed(ctx context.Context, root, attr any, includes []any) (*data.Map, error) {
	kwargs := data.NewMap("use_context", false)
	if data.Truth(attr) {
		kwargs.Set("attr", attr)
	}
	return m.listPkgs(ctx, listPkgsArgs{Root: root, Includes: includes, Kwargs: kwargs})
}

// infoInstalled returns the details of installed packages. The arguments are those of lowpkg.info.
//
// CLI Example:
//
//	salt '*' pkg.info_installed vim attr=version,vendor
func (m *module) infoInstalled(ctx context.Context, a namesArgs) (*data.Map, error) {
	return packages.InfoInstalled(ctx, m.env, a.Names, packages.Own(a.Kwargs))
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// fileList returns the files of the given packages, or of all.
//
// CLI Example:
//
//	salt '*' pkg.file_list vim
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_list", a.Packages, packages.Own(a.Kwargs))
}

// fileDict returns the files of the given packages, or of all, by package.
//
// CLI Example:
//
//	salt '*' pkg.file_dict vim
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_dict", a.Packages, packages.Own(a.Kwargs))
}

type modifiedArgs struct {
	Packages []any     `args:"packages"`
	Flags    *data.Map `kwargs:"flags"`
}

// modified returns the files of the given packages, or of all, that differ from their state at
// installation. The arguments are those of lowpkg.modified.
//
// CLI Example:
//
//	salt '*' pkg.modified vim size=True
func (m *module) modified(ctx context.Context, a modifiedArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.modified", a.Packages, packages.Own(a.Flags))
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns the package that owns a file, "" if none does. For several files it returns a
// dictionary.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/vim
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.owner", a.Paths, packages.Own(a.Kwargs))
}

// verify returns how the files of the given packages, or of all, differ from their state at
// installation. The arguments are those of lowpkg.verify.
//
// CLI Example:
//
//	salt '*' pkg.verify vim
func (m *module) verify(ctx context.Context, a namesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.verify", a.Names, packages.Own(a.Kwargs))
}

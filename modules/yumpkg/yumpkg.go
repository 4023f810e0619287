// Package yumpkg is Salt's module pkg on systems with dnf, dnf5, tdnf or yum
// (salt/modules/yumpkg.py).
//
// Differences from Salt 3006.0: dnf5 is supported, as in 3007. Versions are compared by RPM's
// rules. The list of available packages ends before the obsolete ones, which Salt reads too.
// Repository files are replaced atomically. list_repo_pkgs queries each repository separately,
// which yum supports since 3.4.3, also with older versions of yum.
package yumpkg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module pkg for dnf and yum.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "yumpkg", New: newModule} }

type module struct {
	env     *loader.Env
	program string // dnf5, dnf, tdnf or yum
}

func newModule(env *loader.Env) (*loader.Module, error) {
	system, family := strings.ToLower(env.GrainsNow().Text("os")),
		strings.ToLower(env.GrainsNow().Text("os_family"))
	known := []string{"amazon", "xcp", "xenserver", "virtuozzolinux", "virtuozzo",
		"issabel pbx", "openeuler"}
	if env.Option("yum_provider") == "yumpkg_api" {
		return nil, errors.New("Module yumpkg: yumpkg_api provider not available") //nolint:staticcheck // Salt's text
	}
	if family != "redhat" && !slices.Contains(known, system) {
		return nil, errors.New("Module yumpkg: no yum based system detected") //nolint:staticcheck // Salt's text
	}
	m := &module{env: env, program: program()}
	if m.program == "" {
		return nil, errors.New("DNF nor YUM found")
	}
	return &loader.Module{Funcs: slices.Concat(m.packageFuncs(), m.groupFuncs(), m.repoFuncs())},
		nil
}

// program returns the package manager: the newest one in the first directory of the search path
// that has any.
func program() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, name := range []string{"dnf5", "dnf", "tdnf", "yum"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() &&
				info.Mode()&0o111 != 0 {
				return name
			}
		}
	}
	return ""
}

func (m *module) packageFuncs() []loader.Func {
	return []loader.Func{
		loader.F("available_version", m.latestVersion),
		loader.F("clean_metadata", m.refreshDB),
		loader.F("diff", m.diff),
		loader.F("download", m.download),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("get_locked_packages", m.listHolds),
		loader.F("hold", m.hold),
		loader.F("info_installed", m.infoInstalled),
		loader.F("install", m.install),
		loader.F("latest_version", m.latestVersion),
		loader.F("list_downloaded", m.listDownloaded),
		loader.F("list_holds", m.listHolds),
		loader.F("list_installed_patches", m.listInstalledPatches),
		loader.F("list_patches", m.listPatches),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("list_repo_pkgs", m.listRepoPkgs),
		loader.F("list_updates", m.listUpgrades),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("modified", m.modified),
		loader.F("normalize_name", m.normalizeName),
		loader.F("owner", m.owner),
		loader.F("parse_arch", m.parseArch),
		loader.F("purge", m.purge),
		loader.F("refresh_db", m.refreshDB),
		loader.F("remove", m.remove),
		loader.F("services_need_restart", m.servicesNeedRestart),
		loader.F("unhold", m.unhold),
		loader.F("update", m.update),
		loader.F("upgrade", m.upgrade),
		loader.F("upgrade_available", m.upgradeAvailable),
		loader.F("verify", m.verify),
		loader.F("version", m.version),
		loader.F("version_cmp", m.versionCmp),
	}
}

func (m *module) groupFuncs() []loader.Func {
	return []loader.Func{
		loader.F("group_diff", m.groupDiff),
		loader.F("group_info", m.groupInfo),
		loader.F("group_install", m.groupInstall),
		loader.F("group_list", m.groupList),
		loader.F("groupinstall", m.groupInstall),
	}
}

func (m *module) repoFuncs() []loader.Func {
	return []loader.Func{
		loader.F("del_repo", m.delRepo),
		loader.F("get_repo", m.getRepo),
		loader.F("list_repos", m.listRepos),
		loader.F("mod_repo", m.modRepo),
	}
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

func (m *module) osArch() string { return m.env.GrainsNow().Text("osarch") }

// dnf reports whether the program is dnf or dnf5.
func (m *module) dnf() bool { return m.program == "dnf" || m.program == "dnf5" }

// yum runs the program so that it survives a restart of the minion.
func (m *module) yum(ctx context.Context, r calls.Run, args ...any) (calls.Ran, error) {
	command, err := packages.Scoped(ctx, m.env, "salt.loaded.int.module.yumpkg",
		append([]any{m.program}, args...))
	if err != nil {
		return calls.Ran{}, err
	}
	return packages.Run(ctx, m.env, r, command...)
}

// output runs a program and returns its output.
func (m *module) output(ctx context.Context, command ...any) (string, error) {
	out, err := packages.Run(ctx, m.env, packages.Quietly(), command...)
	return out.Stdout, err
}

// Package aptpkg is Salt's module pkg on Debian and its derivatives (salt/modules/aptpkg.py):
// packages of apt and dpkg.
//
// The list of installed packages is read from dpkg-query once a job, and again when dpkg's database
// has changed. Versions are compared by dpkg's rules without running a program.
//
// Differences from Salt: A package counts as installed only if dpkg reports it as installed or
// waiting for triggers. Salt also counts half-installed packages, and does not count those that
// wait for triggers. A failure of dpkg-query is an error, not an empty list. latest_version asks
// apt-cache once for all names. Older versions are installed with --allow-downgrades, which, unlike
// --force-yes, does not accept unsigned packages. download_only also applies to packages that are
// to be reinstalled. upgrade with a list of packages upgrades only these. A hold that dpkg did not
// accept is a failure. owner ignores diversions.
package aptpkg

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module pkg for Debian, Ubuntu and their derivatives.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "aptpkg", New: newModule} }

type module struct {
	env   *loader.Env
	pause func(ctx context.Context, d time.Duration) error // waits between retries for a lock
}

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Value("os_family") != "Debian" {
		return nil, errors.New("The pkg module could not be loaded: unsupported OS family") //nolint:staticcheck // Salt's text
	}
	m := &module{env: env, pause: clock.Sleep}
	return &loader.Module{Funcs: slices.Concat(m.readFuncs(), m.changeFuncs())}, nil
}

// readFuncs returns the functions that change nothing.
func (m *module) readFuncs() []loader.Func {
	latest := loader.F("latest_version", m.latestVersion)
	return []loader.Func{
		latest,
		latest.Alias("available_version").Def("latest_version"),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("get_selections", m.getSelections),
		loader.F("info_installed", m.infoInstalled),
		loader.F("list_downloaded", m.listDownloaded),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("list_repo_pkgs", m.listRepoPkgs),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("normalize_name", m.normalizeName),
		loader.F("owner", m.owner),
		loader.F("parse_arch", m.parseArch),
		loader.F("services_need_restart", m.servicesNeedRestart),
		loader.F("show", m.show),
		loader.F("upgrade_available", m.upgradeAvailable),
		loader.F("version", m.version),
		loader.F("version_cmp", m.versionCmp),
	}
}

// changeFuncs returns the functions that change the host.
func (m *module) changeFuncs() []loader.Func {
	return []loader.Func{
		loader.F("autoremove", m.autoremove),
		loader.F("hold", m.hold),
		loader.F("install", m.install),
		loader.F("purge", m.purge),
		loader.F("refresh_db", m.refreshDB),
		loader.F("remove", m.remove),
		loader.F("set_selections", m.setSelections),
		loader.F("unhold", m.unhold),
		loader.F("upgrade", m.upgrade),
	}
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

type nameArgs struct{ Name string }

// normalizeName returns the name of a package without its architecture if that is the host's own,
// all or any.
//
// CLI Example:
//
//	salt '*' pkg.normalize_name zsh:amd64
func (m *module) normalizeName(_ context.Context, a nameArgs) (any, error) {
	return m.normal(a.Name), nil
}

func (m *module) normal(name string) string {
	bare, arch, ok := cutArch(name)
	if ok && (arch == m.env.GrainsNow().Text("osarch") || arch == "all" || arch == "any") {
		return bare
	}
	return name
}

// cutArch splits a name at its last colon.
func cutArch(name string) (bare, arch string, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// parseArch splits a name into package name and architecture.
//
// CLI Example:
//
//	salt '*' pkg.parse_arch zsh:amd64
func (m *module) parseArch(_ context.Context, a nameArgs) (any, error) {
	if bare, arch, ok := cutArch(a.Name); ok {
		return data.NewMap("name", bare, "arch", arch), nil
	}
	return data.NewMap("name", a.Name, "arch", nil), nil
}

type versionArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// version returns the version of an installed package, or "" if it is not installed. For several
// names, or a pattern with a star, it returns a dictionary of versions.
//
// CLI Example:
//
//	salt '*' pkg.version <package name>
//	salt '*' pkg.version <package1> <package2> <package3> ...
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	if len(a.Names) == 0 {
		return &data.Map{}, nil
	}
	l, err := m.list(ctx, a.Kwargs)
	if err != nil {
		return nil, err
	}
	all := l.pick(packages.True(a.Kwargs.Value("removed")),
		packages.True(a.Kwargs.Value("purge_desired")))
	return packages.Versions(all, data.Texts(a.Names),
		packages.True(a.Kwargs.Value("versions_as_list"))), nil
}

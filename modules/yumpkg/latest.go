package yumpkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
)

// latestVersion returns the newest available versions of packages: a text for one package, a
// dictionary for several. It is "" if the newest version is installed or the package does not
// exist.
//
// refresh : True
//
//	Clear the cached repository data first. fromrepo, enablerepo, disablerepo, disableexcludes,
//	branch and setopt are as in pkg.install.
//
// CLI Example:
//
//	salt '*' pkg.latest_version bash fromrepo=epel-testing
func (m *module) latestVersion(ctx context.Context, a namesArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	refresh := packages.True(packages.Take(kwargs, "refresh", true))
	if len(a.Names) == 0 {
		return "", nil
	}
	if refresh {
		if _, err := m.refreshDB(ctx, kwargsArgs{kwargs}); err != nil {
			return nil, err
		}
	}
	installed, err := m.installed(ctx, true, nil)
	if err != nil {
		return nil, err
	}
	available, err := m.available(ctx, data.Texts(a.Names), kwargs, installed)
	if err != nil {
		return nil, err
	}
	latest := &data.Map{}
	for _, name := range data.Texts(a.Names) {
		latest.Set(name, m.newest(name, available, installed))
	}
	return packages.Alone(latest), nil
}

// available returns the versions of packages in the repositories, the newest first.
func (m *module) available(
	ctx context.Context, names []string, kwargs, installed *data.Map,
) ([]listed, error) {
	if err := packages.Names(names...); err != nil {
		return nil, err
	}
	which := "available"
	if m.program == "dnf5" {
		which = "--available"
	}
	args := append(append([]any{"--quiet"}, options(kwargs)...), "list", which)
	out, err := m.yum(ctx, packages.Quietly(), append(args, data.Values(names)...)...)
	if err != nil {
		return nil, err
	}
	if out.Retcode != 0 {
		missing := slices.ContainsFunc(names, func(n string) bool { return !installed.Has(n) })
		if out.Stderr != "" && missing {
			m.env.Log.Errorf("Problem encountered getting latest version for the following package(s): %s. Stderr follows: \n%s", strings.Join(names, ", "), out.Stderr)
		}
		return nil, nil
	}
	all := parseListed(out.Stdout, m.osArch())
	slices.SortStableFunc(all, func(a, b listed) int { return rpm.CompareEVR(b.version, a.version) })
	return all, nil
}

// newest returns the newest version of a package that is newer than all installed ones, or "".
func (m *module) newest(name string, available []listed, installed *data.Map) string {
	arch := m.osArch()
	if _, own := rpm.SplitArch(name, false); own != "" {
		arch = own
	}
	have, _ := installed.Value(name).([]any)
	for _, l := range available {
		if l.name != name || l.arch != "noarch" && l.arch != arch &&
			!rpm.Both32(l.arch, m.osArch()) {
			continue
		}
		if !slices.ContainsFunc(have, func(v any) bool { return rpm.CompareEVR(data.Str(v), l.version) >= 0 }) {
			return l.version
		}
	}
	return ""
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// upgradeAvailable reports whether a newer version of a package is available.
//
// CLI Example:
//
//	salt '*' pkg.upgrade_available bash
func (m *module) upgradeAvailable(ctx context.Context, a nameArgs) (any, error) {
	v, err := m.latestVersion(ctx, namesArgs{[]any{a.Name}, a.Kwargs})
	return v != "", err
}

type cmpArgs struct {
	Pkg1, Pkg2  any
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
	return rpm.VersionCmp(a.Pkg1, a.Pkg2, a.IgnoreEpoch), nil
}

// compare returns the comparison of versions that conditions use.
func compare(ignoreEpoch bool) packages.Cmp {
	return func(a, b string) (int, bool) {
		if ignoreEpoch {
			a, b = packages.WithoutEpoch(a), packages.WithoutEpoch(b)
		}
		return rpm.CompareEVR(a, b), true
	}
}

type pkgNameArgs struct{ Name string }

// normalizeName removes the architecture from the name of a package if it is that of the host.
//
// CLI Example:
//
//	salt '*' pkg.normalize_name zsh.x86_64
func (m *module) normalizeName(_ context.Context, a pkgNameArgs) (any, error) {
	return rpm.Normalize(a.Name, m.osArch()), nil
}

// parseArch splits the name of a package into the bare name and the architecture.
//
// CLI Example:
//
//	salt '*' pkg.parse_arch zsh.x86_64
func (m *module) parseArch(_ context.Context, a pkgNameArgs) (any, error) {
	return rpm.ParseArch(a.Name), nil
}

// refreshDB clears the cached repository data and fetches it again. It returns True if there are
// upgrades, None if there are none, and False if it failed.
//
// check_update : True
//
//	False: only clear the cache, and return True.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, a kwargsArgs) (any, error) {
	packages.Refreshed(m.env)
	kwargs := packages.Own(a.Kwargs)
	check := packages.Take(kwargs, "check_update", true)
	opts := options(kwargs)
	if _, err := m.yum(ctx, packages.Quietly(),
		append([]any{"--quiet", "--assumeyes", "clean", "expire-cache"}, opts...)...); err != nil {
		return nil, err
	}
	if !data.Truth(check) {
		return true, nil
	}
	args := []any{"--quiet", "--assumeyes", "check-update"}
	if grains := m.env.GrainsNow(); grains.Text("os_family") == "RedHat" &&
		data.Str(grains.Value("osmajorrelease")) == "7" {
		args = append(args, "--setopt=autocheck_running_kernel=false")
	}
	out, err := m.yum(ctx, packages.Quietly(), append(args, opts...)...)
	switch {
	case err != nil:
		return nil, err
	case out.Retcode == 100:
		return true, nil
	case out.Retcode == 0:
		return nil, nil
	}
	return false, nil
}

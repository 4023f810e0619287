// Package pkgresource is Salt's module pkg_resource: functions that the modules of package managers
// share (salt/modules/pkg_resource.py).
//
// As in Salt, check_extra_requirements and version_clean use the module pkg. One thing differs:
// version_compare uses the module pkg if it can compare. Salt looks it up under a wrong name and
// always uses its loose rule.
package pkgresource

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module pkg_resource.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg_resource", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_pkg", m.addPkg).Changes("pkgs"),
		loader.F("check_extra_requirements", m.checkExtraRequirements),
		loader.F("format_pkg_list", m.formatPkgList),
		loader.F("format_version", m.formatVersion),
		loader.F("pack_sources", m.packSources),
		loader.F("parse_targets", m.parseTargets),
		loader.F("sort_pkglist", m.sortPkglist).Changes("pkgs"),
		loader.F("stringify", m.stringify).Changes("pkgs"),
		loader.F("version", m.version),
		loader.F("version_clean", m.versionClean),
		loader.F("version_compare", m.versionCompare),
	}}, nil
}

type versionArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// version returns the versions of installed packages: a text for one, a dictionary for several. A
// name with a star stands for all packages that match it.
//
// CLI Example:
//
//	salt '*' pkg_resource.version vim
//	salt '*' pkg_resource.version foo bar baz
//	salt '*' pkg_resource.version 'python*'
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	asList := packages.True(packages.Take(kwargs, "versions_as_list", false))
	if len(a.Names) == 0 {
		return &data.Map{}, nil
	}
	all, err := calls.ListPkgs(ctx, m.env, calls.PkgList{AsLists: true, More: kwargs})
	if err != nil {
		return nil, err
	}
	return packages.Versions(all, data.Texts(a.Names), asList), nil
}

type addArgs struct {
	Pkgs         any
	Name, Pkgver string
}

// addPkg adds a package and its version to a dictionary of packages.
//
// CLI Example:
//
//	salt '*' pkg_resource.add_pkg '{}' bind 9
func (m *module) addPkg(_ context.Context, a addArgs) (any, error) {
	if pkgs, ok := a.Pkgs.(*data.Map); ok {
		packages.Add(pkgs, a.Name, a.Pkgver)
	} else {
		m.env.Log.Errorf("pkg_resource.add_pkg: '%s' object has no attribute 'setdefault'",
			loader.TypeName(a.Pkgs))
	}
	return nil, nil
}

type pkgsArgs struct{ Pkgs any }

// sortPkglist sorts the versions of each package in a dictionary, so that two dictionaries can be
// compared.
//
// CLI Example:
//
//	salt '*' pkg_resource.sort_pkglist '{"vim": ["3.45", "2.13"]}'
func (m *module) sortPkglist(_ context.Context, a pkgsArgs) (any, error) {
	if pkgs, ok := a.Pkgs.(*data.Map); ok {
		packages.Sort(pkgs)
	}
	return nil, nil
}

// stringify joins the versions of each package in a dictionary by commas.
//
// CLI Example:
//
//	salt '*' pkg_resource.stringify '{"vim": ["7.127"]}'
func (m *module) stringify(_ context.Context, a pkgsArgs) (any, error) {
	if pkgs, ok := a.Pkgs.(*data.Map); ok {
		packages.Stringify(pkgs)
	}
	return nil, nil
}

type cleanArgs struct{ Verstr any }

// versionClean returns a version without the parts that the package manager adds for its own use.
//
// CLI Example:
//
//	salt '*' pkg_resource.version_clean <version_string>
func (m *module) versionClean(ctx context.Context, a cleanArgs) (any, error) {
	if data.Truth(a.Verstr) && m.env.Functions.Has("pkg.version_clean") {
		return m.env.Call(ctx, "pkg.version_clean", []any{a.Verstr}, nil)
	}
	return a.Verstr, nil
}

type compareArgs struct {
	Ver1        any
	Oper        string
	Ver2        any
	IgnoreEpoch bool `default:"False"`
}

// versionCompare reports whether two versions are in a relation, which is one of ==, !=, >=, <=, >
// and <.
//
// ignore_epoch : False
//
//	Ignore everything up to the first colon of each version.
//
// CLI Example:
//
//	salt myminion pkg_resource.version_compare '3.5' '<=' '2.4'
//	salt myminion pkg_resource.version_compare '3.5' '<=' '2.4' ignore_epoch=True
func (m *module) versionCompare(ctx context.Context, a compareArgs) (any, error) {
	if !packages.Knows(a.Oper) {
		m.env.Log.Errorf("Invalid operator '%s' for version comparison", a.Oper)
		return false, nil
	}
	order, known, err := m.order(ctx, a)
	if err != nil {
		return nil, err
	}
	return packages.Holds("", a.Oper,
		"", func(string, string) (int, bool) { return order, known }), nil
}

// order compares by the rule of the package manager, or else by the loose rule. known is false if
// the versions cannot be compared.
func (m *module) order(ctx context.Context, a compareArgs) (order int, known bool, err error) {
	if m.env.Functions.Has("pkg.version_cmp") {
		return calls.VersionCmp(ctx, m.env, a.Ver1, a.Ver2, a.IgnoreEpoch)
	}
	x, y := data.Str(a.Ver1), data.Str(a.Ver2)
	if a.IgnoreEpoch {
		x, y = packages.WithoutEpoch(x), packages.WithoutEpoch(y)
	}
	return packages.Loose(x, y), true, nil
}

type extraArgs struct{ Pkgname, Pkgver any }

// checkExtraRequirements reports whether an installed package meets the requirements beside its
// version. It returns True if the package manager has no such requirements.
//
// CLI Example:
//
//	salt '*' pkg_resource.check_extra_requirements <pkgname> <extra_requirements>
func (m *module) checkExtraRequirements(ctx context.Context, a extraArgs) (any, error) {
	if data.Truth(a.Pkgver) && m.env.Functions.Has("pkg.check_extra_requirements") {
		return m.env.Call(ctx, "pkg.check_extra_requirements", []any{a.Pkgname, a.Pkgver}, nil)
	}
	return true, nil
}

type formatArgs struct {
	Packages       *data.Map
	VersionsAsList any
	Attr           any
}

// formatPkgList converts a dictionary of packages with the details of each version to the result of
// pkg.list_pkgs.
//
// attr
//
//	The details to return for each version: all, or a list of epoch, version, release, arch,
//	install_date and install_date_time_t.
//
// CLI Example:
//
//	salt '*' pkg_resource.format_pkg_list '{"vim": [{"epoch": "", "version": "9", "release": ""}]}' False None
func (m *module) formatPkgList(ctx context.Context, a formatArgs) (any, error) {
	if data.Truth(a.Attr) {
		return m.withAttributes(ctx, a.Packages, a.Attr)
	}
	out := &data.Map{}
	for name, v := range a.Packages.All() {
		list, _ := v.([]any)
		versions := make([]any, len(list))
		for i, d := range list {
			one, _ := d.(*data.Map)
			versions[i] = formatVersion(one.Value("epoch"), one.Value("version"),
				one.Value("release"))
		}
		out.Set(name, versions)
	}
	if !data.Truth(a.VersionsAsList) {
		packages.Stringify(out)
	}
	return out, nil
}

func (m *module) withAttributes(ctx context.Context, pkgs *data.Map, attr any) (any, error) {
	wanted := []string{"arch", "epoch", "install_date", "install_date_time_t", "release", "version"}
	if asked, ok := attr.([]any); ok {
		wanted = slices.DeleteFunc(wanted, func(key string) bool {
			return key != "version" && key != "arch" && !slices.Contains(asked, any(key))
		})
	}
	out := &data.Map{}
	for key, v := range pkgs.All() {
		name := data.Str(key)
		bare, arch, err := m.parseArch(ctx, name)
		if err != nil {
			return nil, err
		}
		under := name
		versions, _ := out.Value(name).([]any)
		list, _ := v.([]any)
		for _, d := range list {
			one := filtered(d, wanted)
			versions = append(versions, one)
			if bare != "" && data.Equal(one.Value("arch"), arch) {
				under = bare
			}
		}
		if under != name {
			earlier, _ := out.Value(under).([]any)
			versions = append(slices.Clone(earlier), versions...)
		}
		out.Set(under, versions)
	}
	return out, nil
}

func filtered(v any, wanted []string) *data.Map {
	all, _ := v.(*data.Map)
	out := &data.Map{}
	for _, key := range wanted {
		if value, ok := all.Get(key); ok {
			out.Set(key, value)
		}
	}
	return out
}

// parseArch splits a package name into the bare name and the architecture.
func (m *module) parseArch(ctx context.Context, name string) (bare string, arch any, err error) {
	if !m.env.Functions.Has("pkg.parse_arch") {
		return name, nil, nil
	}
	return calls.ParseArch(ctx, m.env, name)
}

type formatVersionArgs struct{ Epoch, Version, Release any }

// formatVersion joins epoch, version and release.
//
// CLI Example:
//
//	salt '*' pkg_resource.format_version 1 2.3 4
func (m *module) formatVersion(_ context.Context, a formatVersionArgs) (any, error) {
	return formatVersion(a.Epoch, a.Version, a.Release), nil
}

func formatVersion(epoch, version, release any) string {
	text := data.Str(version)
	if data.Truth(epoch) {
		text = data.Str(epoch) + ":" + text
	}
	if data.Truth(release) {
		text += "-" + data.Str(release)
	}
	return text
}

// Package apkpkg is Salt's module pkg on Alpine Linux (salt/modules/apkpkg.py).
//
// Unlike in Salt 3006.0, pkgs may contain names as well as dictionaries, and requested versions are
// passed to apk.
package apkpkg

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module pkg for apk.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "apkpkg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Text("os_family") != "Alpine" {
		return nil, errors.New("Module apk only works on Alpine Linux based systems") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileDict),
		loader.F("install", m.install),
		loader.F("latest_version", m.latestVersion),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("owner", m.owner),
		loader.F("purge", m.purge),
		loader.F("refresh_db", m.refreshDB),
		loader.F("remove", m.remove),
		loader.F("upgrade", m.upgrade),
		loader.F("version", m.version),
	}}, nil
}

func (m *module) apk(ctx context.Context, args ...any) (calls.Ran, error) {
	return packages.Run(ctx, m.env, calls.Run{}, append([]any{"apk"}, args...)...)
}

type namesArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// version returns the versions of installed packages: for one name a string, for several a
// dictionary. It is "" for a package that is not installed.
//
// CLI Example:
//
//	salt '*' pkg.version busybox
func (m *module) version(ctx context.Context, a namesArgs) (any, error) {
	return m.env.Call(ctx, "pkg_resource.version", a.Names, packages.Own(a.Kwargs))
}

type kwargsArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// refreshDB updates apk's repository indexes and returns True.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, _ kwargsArgs) (any, error) {
	packages.Refreshed(m.env)
	out, err := m.apk(ctx, "update")
	if err == nil && out.Retcode != 0 {
		err = loader.ExecutionInfo("Problem encountered installing package(s)",
			data.NewMap("errors", []any{out.Stdout}, "changes", false))
	}
	return err == nil, err
}

type listPkgsArgs struct {
	VersionsAsList any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listPkgs returns the versions of all installed packages.
//
// versions_as_list
//
//	True: a list for each package instead of a string with commas.
//
// CLI Example:
//
//	salt '*' pkg.list_pkgs
func (m *module) listPkgs(ctx context.Context, a listPkgsArgs) (any, error) {
	if packages.NoneInstalled(a.Kwargs) {
		return &data.Map{}, nil
	}
	return packages.Installed(ctx, packages.True(a.VersionsAsList),
		a.Kwargs.Value("use_context") == false, func() (*data.Map, error) { return m.read(ctx) })
}

func (m *module) read(ctx context.Context) (*data.Map, error) {
	out, err := m.apk(ctx, "info", "-v")
	all := &data.Map{}
	for line := range strings.Lines(out.Stdout) {
		if name, version, ok := split(strings.TrimSpace(line)); ok {
			packages.Add(all, name, version)
		}
	}
	return all, err
}

// split splits NAME-VERSION-rN.
func split(text string) (name, version string, ok bool) {
	parts := strings.Split(text, "-")
	if n := len(parts); n > 2 {
		return strings.Join(parts[:n-2], "-"), strings.Join(parts[n-2:], "-"), true
	}
	return "", "", false
}

// texts returns a function that lists the installed packages with versions as strings.
func (m *module) texts(ctx context.Context) func() (*data.Map, error) {
	return func() (*data.Map, error) {
		return packages.Installed(ctx, false, false,
			func() (*data.Map, error) { return m.read(ctx) })
	}
}

// latestVersion returns the newest available versions of packages: for one name a string, for
// several a dictionary. It is "" if the newest version is installed already, or if there is none.
//
// refresh : True
//
//	Update the repository indexes first.
//
// CLI Example:
//
//	salt '*' pkg.latest_version busybox bash
func (m *module) latestVersion(ctx context.Context, a namesArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	refresh := packages.True(packages.Take(kwargs, "refresh", true))
	if len(a.Names) == 0 {
		return "", nil
	}
	installed, err := m.texts(ctx)()
	if err == nil && refresh {
		_, err = m.refreshDB(ctx, kwargsArgs{})
	}
	if err != nil {
		return nil, err
	}
	out, err := m.apk(ctx, "upgrade", "-s")
	if err != nil {
		return nil, err
	}
	newer, latest := upgrades(out.Stdout), &data.Map{}
	for _, name := range a.Names {
		v := newer.Text(name)
		if v == "" {
			if v, err = m.found(ctx, data.Str(name)); err != nil {
				return nil, err
			}
		}
		if v == installed.Text(name) {
			v = ""
		}
		latest.Set(name, v)
	}
	return packages.Alone(latest), nil
}

// found returns the version of a package that apk finds in its repositories.
func (m *module) found(ctx context.Context, name string) (string, error) {
	if err := packages.Names(name); err != nil {
		return "", err
	}
	out, err := m.apk(ctx, "search", name)
	version := ""
	for line := range strings.Lines(out.Stdout) {
		if n, v, ok := split(strings.TrimSpace(line)); ok && n == name {
			version = v
		}
	}
	return version, err
}

// upgrades parses the upgrades that apk proposes: (1/2) Upgrading NAME (OLD -> NEW).
func upgrades(text string) *data.Map {
	newer := &data.Map{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 6 && f[1] == "Upgrading" {
			newer.Set(f[2], strings.TrimRight(f[5], ")"))
		}
	}
	return newer
}

type listUpgradesArgs struct {
	Refresh any       `default:"True"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listUpgrades returns the packages that have a newer version, with that version.
//
// refresh : True
//
//	Update the repository indexes first.
//
// CLI Example:
//
//	salt '*' pkg.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a listUpgradesArgs) (any, error) {
	if packages.True(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{}); err != nil {
			return nil, err
		}
	}
	out, err := m.apk(ctx, "upgrade", "-s")
	if err == nil && out.Retcode != 0 {
		err = loader.Execution("%s%s", out.Stderr, out.Stdout)
	}
	return upgrades(out.Stdout), err
}

// Package pacmanpkg is Salt's module pkg on Arch Linux (salt/modules/pacmanpkg.py).
//
// Differences from Salt 3006.0: list_repo_pkgs sorts versions by RPM's rules, which pacman uses
// too. install passes the argument root as an option, not as a package.
package pacmanpkg

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module pkg for pacman.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "pacmanpkg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Text("os_family") != "Arch" {
		return nil, errors.New("The pacman module could not be loaded: unsupported OS family.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available_version", m.latestVersion),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("group_diff", m.groupDiff),
		loader.F("group_info", m.groupInfo),
		loader.F("group_list", m.groupList),
		loader.F("install", m.install),
		loader.F("latest_version", m.latestVersion),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("list_repo_pkgs", m.listRepoPkgs),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("owner", m.owner),
		loader.F("purge", m.purge),
		loader.F("refresh_db", m.refreshDB),
		loader.F("remove", m.remove),
		loader.F("upgrade", m.upgrade),
		loader.F("upgrade_available", m.upgradeAvailable),
		loader.F("version", m.version),
	}}, nil
}

// output runs pacman and returns its output.
func (m *module) output(ctx context.Context, args ...any) (string, error) {
	out, err := packages.Run(ctx, m.env, packages.Quietly(), append([]any{"pacman"}, args...)...)
	return out.Stdout, err
}

// rootOption returns the option for a directory to use as the root directory.
func rootOption(root any) []any {
	if root == nil {
		return nil
	}
	return []any{"-r", root}
}

// pairs yields the first two words of each line.
func pairs(text string, yield func(a, b string)) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 {
			yield(f[0], f[1])
		}
	}
}

type namesArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// latestVersion returns the newest available versions of packages: a text for one package, a
// dictionary for several. It is "" if the newest version is installed or the package does not
// exist.
//
// refresh : False
//
//	True: refresh the package databases first.
//
// CLI Example:
//
//	salt '*' pkg.latest_version bash zsh
func (m *module) latestVersion(ctx context.Context, a namesArgs) (any, error) {
	if len(a.Names) == 0 {
		return "", nil
	}
	if packages.True(a.Kwargs.Value("refresh")) {
		if _, err := m.refreshDB(ctx, rootArgs{}); err != nil {
			return nil, err
		}
	}
	if err := packages.Names(a.Names...); err != nil {
		return nil, err
	}
	text, err := m.output(ctx, slices.Concat([]any{"-Sp", "--needed", "--print-format", "%n %v"},
		a.Names, rootOption(a.Kwargs.Value("root")))...)
	latest := &data.Map{}
	for _, name := range a.Names {
		latest.Set(name, "")
	}
	pairs(text, func(name, version string) {
		if latest.Has(name) {
			latest.Set(name, version)
		}
	})
	return packages.Alone(latest), err
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
	v, err := m.latestVersion(ctx, namesArgs{Names: []any{a.Name}})
	return v != "", err
}

type upgradesArgs struct {
	Refresh any       `default:"False"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listUpgrades returns the packages with a newer version, and that version.
//
// refresh : False
//
//	True: refresh the package databases first.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' pkg.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a upgradesArgs) (any, error) {
	command := append([]any{"pacman", "-S", "-p", "-u", "--print-format", "%n %v"},
		rootOption(a.Root)...)
	if data.Truth(a.Refresh) {
		command = append(command, "-y")
	}
	out, err := packages.Run(ctx, m.env, calls.Run{}, command...)
	if err == nil && out.Retcode != 0 {
		output := out.Stderr + out.Stdout
		if output != "" {
			output = ": " + output
		}
		err = loader.Execution("Error listing upgrades%s", output)
	}
	upgrades := &data.Map{}
	pairs(out.Stdout, func(name, version string) {
		if name != "downloading" && !strings.HasPrefix(name, "::") {
			upgrades.Set(name, version)
		}
	})
	return upgrades, err
}

// version returns the installed versions of packages: a text for one package, a dictionary for
// several. It is "" if a package is not installed.
//
// CLI Example:
//
//	salt '*' pkg.version bash zsh
func (m *module) version(ctx context.Context, a namesArgs) (any, error) {
	return m.env.Call(ctx, "pkg_resource.version", a.Names, packages.Own(a.Kwargs))
}

type listPkgsArgs struct {
	VersionsAsList any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listPkgs returns the versions of all installed packages.
//
// versions_as_list
//
//	True: a list for each package instead of a text.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' pkg.list_pkgs
func (m *module) listPkgs(ctx context.Context, a listPkgsArgs) (any, error) {
	if packages.NoneInstalled(a.Kwargs) {
		return &data.Map{}, nil
	}
	return packages.Installed(ctx, packages.True(a.VersionsAsList),
		a.Kwargs.Value("use_context") == false, func() (*data.Map, error) {
			return m.read(ctx, a.Kwargs.Value("root"))
		})
}

func (m *module) read(ctx context.Context, root any) (*data.Map, error) {
	text, err := m.output(ctx, append([]any{"-Q"}, rootOption(root)...)...)
	all := &data.Map{}
	pairs(text, func(name, version string) { packages.Add(all, name, version) })
	return all, err
}

// texts returns a function that returns the installed packages with their versions as texts.
func (m *module) texts(ctx context.Context) func() (*data.Map, error) {
	return func() (*data.Map, error) {
		return packages.Installed(ctx, false, false,
			func() (*data.Map, error) { return m.read(ctx, nil) })
	}
}

type rootArgs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// refreshDB refreshes the package databases. For each repository it returns whether there was
// anything new.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, a rootArgs) (any, error) {
	packages.Refreshed(m.env)
	out, err := packages.Run(ctx, m.env, calls.Run{Env: data.NewMap("LANG", "C")},
		append([]any{"pacman", "-Sy"}, rootOption(a.Root)...)...)
	if err == nil && out.Retcode != 0 {
		err = loader.Execution("Error refreshing package database: %s", out.Stderr)
	}
	fresh := &data.Map{}
	for line := range strings.Lines(out.Stdout) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "::"):
		case strings.Contains(line, "is up to date"):
			fresh.Set(f[0], false)
		case strings.Contains(line, "downloading") && len(f) > 1:
			name := f[0]
			if name == "downloading" { // old versions print: downloading core.db...
				name = f[1]
			}
			repo, _, _ := strings.Cut(name, ".")
			fresh.Set(repo, true)
		}
	}
	return fresh, err
}

// listRepoPkgs returns the versions of packages in the repositories, the newest first. The packages
// are those that match the patterns, or all.
//
// fromrepo
//
//	The repositories to search, separated by commas. Default: all.
//
// byrepo : False
//
//	True: group the result by repository.
//
// refresh : False
//
//	True: refresh the package databases first.
//
// CLI Example:
//
//	salt '*' pkg.list_repo_pkgs 'samba4*' fromrepo=core,extra
func (m *module) listRepoPkgs(ctx context.Context, a repoPkgsArgs) (*data.Map, error) {
	kwargs := packages.Own(a.Kwargs)
	from, byRepo := packages.Take(kwargs, "fromrepo", ""), packages.Take(kwargs, "byrepo", false)
	if data.Truth(packages.Take(kwargs, "refresh", false)) {
		if _, err := m.refreshDB(ctx, rootArgs{}); err != nil {
			return nil, err
		}
	}
	text, err := m.output(ctx, "-Sl")
	return offered(text, data.Str(from), a.Args, data.Truth(byRepo)), err
}

type repoPkgsArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// offered parses the output of pacman -Sl: repository, package and version.
func offered(text, from string, patterns []any, byRepo bool) *data.Map {
	all := &data.Map{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || from != "" &&
			!slices.Contains(strings.Split(strings.ReplaceAll(from, " ", ""), ","), f[0]) ||
			!fits(f[1], patterns) {
			continue
		}
		into := all
		if byRepo {
			into, _ = all.Value(f[0]).(*data.Map)
			if into == nil {
				into = &data.Map{}
				all.Set(f[0], into)
			}
		}
		versions, _ := into.Value(f[1]).([]any)
		versions = append(versions, f[2])
		slices.SortStableFunc(versions,
			func(a, b any) int { return rpm.CompareEVR(b.(string), a.(string)) })
		into.Set(f[1], versions)
	}
	return all
}

func fits(name string, patterns []any) bool {
	for _, p := range patterns {
		if ok, err := path.Match(data.Str(p), name); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

package pacmanpkg

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name       any       `default:"None"`
	Refresh    any       `default:"False"`
	Sysupgrade any       `default:"None"`
	Pkgs       any       `default:"None"`
	Sources    any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// install installs packages and returns the changes by package: old and new versions.
//
// name
//
//	The package, or several separated by commas.
//
// refresh
//
//	True: refresh the package databases first and upgrade all packages.
//
// sysupgrade
//
//	Whether to upgrade all packages. Default: the value of refresh.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version. Versions may be
//	conditions or patterns.
//
// sources
//
//	A list of dictionaries of name and file.
//
// CLI Example:
//
//	salt '*' pkg.install bash refresh=True
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	const failure = "Problem encountered installing package(s)"
	t, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, Sources: a.Sources, More: packages.Own(a.Kwargs),
	})
	if err != nil || t.Empty() {
		return &data.Map{}, err
	}
	var args, wrong []any
	if len(t.List) > 0 {
		args = append([]any{"-U", "--noprogressbar", "--noconfirm"}, data.Values(t.List)...)
	} else if args, wrong, err = m.fromRepos(ctx, t.Packages, a); err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		return nil, loader.ExecutionInfo(failure,
			data.NewMap("errors", wrong, "changes", &data.Map{}))
	}
	return packages.Changed(ctx, failure, m.texts(ctx),
		func() ([]any, error) {
			return m.act(ctx,
				append(args, rootOption(a.Kwargs.Value("root"))...)...)
		})
}

// fromRepos returns pacman's arguments for packages from the repositories, and the errors in the
// request.
func (m *module) fromRepos(
	ctx context.Context, pkgs *data.Map, a installArgs,
) (args, wrong []any, err error) {
	refresh := a.Refresh == true
	var targets []any
	for k, v := range pkgs.All() {
		name := data.Str(k)
		if v == nil {
			targets = append(targets, name)
			continue
		}
		oper, version := packages.Split(data.Str(v))
		if oper == "" {
			oper = "="
		}
		switch {
		case !strings.Contains(version, "*"):
			targets = append(targets, name+oper+version)
		case oper != "=":
			wrong = append(wrong, fmt.Sprintf("Invalid wildcard for %s%s%s", name, oper, version))
		default:
			found, problem, err := m.match(ctx, name, version, refresh)
			if err != nil {
				return nil, nil, err
			}
			if problem != "" {
				wrong = append(wrong, problem)
			}
			targets, refresh = append(targets, name+"="+found), false // already refreshed
		}
	}
	args = []any{"-S"}
	if refresh {
		args = append(args, "-y")
	}
	if a.Sysupgrade == true || a.Sysupgrade == nil && a.Refresh == true {
		args = append(args, "-u")
	}
	return slices.Concat(args, []any{"--noprogressbar", "--noconfirm", "--needed"},
		targets), wrong, nil
}

// match returns the newest version of a package that matches a pattern, or an error text.
func (m *module) match(
	ctx context.Context, name, pattern string, refresh bool,
) (version, wrong string, err error) {
	all, err := m.listRepoPkgs(ctx, repoPkgsArgs{[]any{name}, data.NewMap("refresh", refresh)})
	var offered []string
	list, _ := all.Value(name).([]any)
	for _, v := range list {
		if ok, bad := path.Match(pattern, data.Str(v)); ok && bad == nil {
			return data.Str(v), "", err
		}
		offered = append(offered, data.Str(v))
	}
	if len(offered) == 0 {
		offered = []string{"none"}
	}
	return "", fmt.Sprintf("No version matching '%s' found for package '%s' (available: %s)",
		pattern, name, strings.Join(offered, ", ")), err
}

// act runs pacman so that it survives a restart of the minion. If pacman fails, it returns the
// error texts.
func (m *module) act(ctx context.Context, args ...any) ([]any, error) {
	out, err := m.scoped(ctx, args...)
	if err == nil && out.Retcode != 0 && out.Stderr != "" {
		return []any{out.Stderr}, nil
	}
	return nil, err
}

func (m *module) scoped(ctx context.Context, args ...any) (calls.Ran, error) {
	command, err := packages.Scoped(ctx, m.env, "salt.loaded.int.module.pacmanpkg",
		append([]any{"pacman"}, args...))
	if err != nil {
		return calls.Ran{}, err
	}
	return packages.Run(ctx, m.env, calls.Run{}, command...)
}

// upgrade upgrades all packages and returns the changes by package.
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
//	salt '*' pkg.upgrade
func (m *module) upgrade(ctx context.Context, a upgradesArgs) (any, error) {
	args := []any{"-Su", "--noprogressbar", "--noconfirm"}
	if packages.True(a.Refresh) {
		args = append(args, "-y")
	}
	var out calls.Ran
	changes, err := packages.Changed(ctx, "", m.texts(ctx), func() (wrong []any, err error) {
		out, err = m.scoped(ctx, append(args, rootOption(a.Root)...)...)
		return nil, err
	})
	if err == nil && out.Retcode != 0 {
		err = loader.ExecutionInfo("Problem encountered upgrading packages",
			data.NewMap("changes", changes, "result", out.Map))
	}
	return changes, err
}

type removeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes packages and returns the changes by package.
//
// CLI Example:
//
//	salt '*' pkg.remove foo,bar
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "-R", a)
}

// purge removes packages, all packages that depend on them, and their unneeded dependencies. It
// returns the changes by package.
//
// CLI Example:
//
//	salt '*' pkg.purge foo,bar
func (m *module) purge(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "-Rsc", a)
}

func (m *module) uninstall(ctx context.Context, how string, a removeArgs) (any, error) {
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{Name: a.Name, Pkgs: a.Pkgs})
	if err != nil {
		return nil, err
	}
	installed, err := m.texts(ctx)()
	if err != nil {
		return nil, err
	}
	args := []any{how, "--noprogressbar", "--noconfirm"}
	for name := range wanted.Packages.All() {
		if installed.Has(name) {
			args = append(args, name)
		}
	}
	if len(args) == 3 {
		return &data.Map{}, nil
	}
	return packages.Changed(ctx, "Problem encountered removing package(s)", m.texts(ctx),
		func() ([]any, error) { return m.act(ctx, args...) })
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// files returns the files of packages as pairs of package and file, and pacman's errors for missing
// packages. The first name may be a directory to use as the root directory.
func (m *module) files(
	ctx context.Context, names []any,
) (files [][2]string, wrong []any, err error) {
	if err := packages.Names(names...); err != nil {
		return nil, nil, err
	}
	args := []any{"-Ql"}
	if len(names) > 0 {
		if _, err := os.Stat(data.Str(names[0])); err == nil {
			args, names = append(args, "-r", names[0]), names[1:]
		}
	}
	out, err := packages.Run(ctx, m.env, calls.Run{IgnoreRetcode: true, MergeStderr: true},
		slices.Concat([]any{"pacman"}, args, names)...)
	for line := range strings.Lines(out.Stdout) {
		line = strings.TrimRight(line, "\n")
		name, file, ok := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "error"):
			wrong = append(wrong, line)
		case ok:
			files = append(files, [2]string{name, strings.TrimSpace(file)})
		}
	}
	return files, wrong, err
}

// fileList returns the files of the given packages, or of all.
//
// CLI Example:
//
//	salt '*' pkg.file_list httpd postfix
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	files, wrong, err := m.files(ctx, a.Packages)
	all := []any{}
	for _, f := range files {
		all = append(all, f[1])
	}
	return data.NewMap("errors", append([]any{}, wrong...), "files", all), err
}

// fileDict returns the files of the given packages, or of all, by package.
//
// CLI Example:
//
//	salt '*' pkg.file_dict httpd postfix
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	files, wrong, err := m.files(ctx, a.Packages)
	all := &data.Map{}
	for _, f := range files {
		packages.Add(all, f[0], f[1])
	}
	return data.NewMap("errors", append([]any{}, wrong...), "packages", all), err
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns the package that owns a file. For several files it returns a dictionary.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/apachectl
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	owners := &data.Map{}
	for _, path := range a.Paths {
		name, err := m.output(ctx, "-Qqo", path)
		if err != nil {
			return nil, err
		}
		owners.Set(path, name)
	}
	if owners.Len() == 0 {
		return "", nil
	}
	return packages.Alone(owners), nil
}

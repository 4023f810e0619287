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
)

type installArgs struct {
	Name       any       `default:"None"`
	Refresh    any       `default:"False"`
	Sysupgrade any       `default:"None"`
	Pkgs       any       `default:"None"`
	Sources    any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// install installs packages, and returns what changed by package: old and new versions.
//
// name
//
//	The package, or several with commas between.
//
// refresh
//
//	True: read the lists of the repositories anew first, and bring all packages to their newest versions.
//
// sysupgrade
//
//	Whether all packages come to their newest versions. Default: as refresh.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version; versions may be conditions or patterns.
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
	v, err := packages.Targets(ctx, m.env, []any{a.Name, a.Pkgs, a.Sources}, packages.Own(a.Kwargs))
	t, _ := v.(data.Tuple)
	if err != nil || len(t) < 2 || !data.Truth(t[0]) {
		return &data.Map{}, err
	}
	var args, wrong []any
	if files, ok := t[0].([]any); ok {
		args = append([]any{"-U", "--noprogressbar", "--noconfirm"}, files...)
	} else if args, wrong, err = m.fromRepos(ctx, t[0].(*data.Map), a); err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		return nil, loader.ExecutionInfo(failure, data.NewMap("errors", wrong, "changes", &data.Map{}))
	}
	return packages.Changed(ctx, failure, m.texts(ctx), func() ([]any, error) { return m.act(ctx, append(args, below(a.Kwargs.Value("root"))...)...) })
}

// fromRepos returns the words of pacman for packages of the repositories, and what is wrong with those that are asked for.
func (m *module) fromRepos(ctx context.Context, pkgs *data.Map, a installArgs) (args, wrong []any, err error) {
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
			targets, refresh = append(targets, name+"="+found), false // the lists are fresh now
		}
	}
	args = []any{"-S"}
	if refresh {
		args = append(args, "-y")
	}
	if a.Sysupgrade == true || a.Sysupgrade == nil && a.Refresh == true {
		args = append(args, "-u")
	}
	return slices.Concat(args, []any{"--noprogressbar", "--noconfirm", "--needed"}, targets), wrong, nil
}

// match returns the newest version of a package that a pattern fits, or what is wrong with it.
func (m *module) match(ctx context.Context, name, pattern string, refresh bool) (version, wrong string, err error) {
	v, err := m.listRepoPkgs(ctx, repoPkgsArgs{[]any{name}, data.NewMap("refresh", refresh)})
	all, _ := v.(*data.Map)
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
	return "", fmt.Sprintf("No version matching '%s' found for package '%s' (available: %s)", pattern, name, strings.Join(offered, ", ")), err
}

// act runs pacman so that it outlives a restart of the minion, and returns what it says of its failure.
func (m *module) act(ctx context.Context, args ...any) ([]any, error) {
	out, err := m.scoped(ctx, args...)
	if err == nil && out.Code != 0 && out.Stderr != "" {
		return []any{out.Stderr}, nil
	}
	return nil, err
}

func (m *module) scoped(ctx context.Context, args ...any) (packages.Outcome, error) {
	command, err := packages.Scoped(ctx, m.env, "salt.loaded.int.module.pacmanpkg", append([]any{"pacman"}, args...))
	if err != nil {
		return packages.Outcome{}, err
	}
	return packages.Run(ctx, m.env, nil, command...)
}

// upgrade brings all packages to their newest versions, and returns what changed by package.
//
// refresh : False
//
//	True: read the lists of the repositories anew first.
//
// root
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' pkg.upgrade
func (m *module) upgrade(ctx context.Context, a upgradesArgs) (any, error) {
	args := []any{"-Su", "--noprogressbar", "--noconfirm"}
	if packages.True(a.Refresh) {
		args = append(args, "-y")
	}
	var out packages.Outcome
	changes, err := packages.Changed(ctx, "", m.texts(ctx), func() (wrong []any, err error) {
		out, err = m.scoped(ctx, append(args, below(a.Root)...)...)
		return nil, err
	})
	if err == nil && out.Code != 0 {
		err = loader.ExecutionInfo("Problem encountered upgrading packages", data.NewMap("changes", changes, "result", out.All))
	}
	return changes, err
}

type removeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes packages, and returns what changed by package.
//
// CLI Example:
//
//	salt '*' pkg.remove foo,bar
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "-R", a)
}

// purge removes packages with all that needs them and that only they needed, and returns what changed by package.
//
// CLI Example:
//
//	salt '*' pkg.purge foo,bar
func (m *module) purge(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "-Rsc", a)
}

func (m *module) uninstall(ctx context.Context, how string, a removeArgs) (any, error) {
	v, err := m.env.Call(ctx, "pkg_resource.parse_targets", []any{a.Name, a.Pkgs}, nil)
	if err != nil {
		return nil, err
	}
	t, _ := v.(data.Tuple)
	installed, err := m.texts(ctx)()
	if err != nil {
		return nil, err
	}
	args := []any{how, "--noprogressbar", "--noconfirm"}
	if len(t) > 0 {
		pkgs, _ := t[0].(*data.Map)
		for name := range pkgs.All() {
			if installed.Has(name) {
				args = append(args, name)
			}
		}
	}
	if len(args) == 3 {
		return &data.Map{}, nil
	}
	return packages.Changed(ctx, "Problem encountered removing package(s)", m.texts(ctx), func() ([]any, error) { return m.act(ctx, args...) })
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// files returns the files of packages as pairs of package and file, and what pacman says of those that there are not. The first name
// may be a directory to take for /.
func (m *module) files(ctx context.Context, names []any) (files [][2]string, wrong []any, err error) {
	if err := packages.Names(names...); err != nil {
		return nil, nil, err
	}
	args := []any{"-Ql"}
	if len(names) > 0 {
		if _, err := os.Stat(data.Str(names[0])); err == nil {
			args, names = append(args, "-r", names[0]), names[1:]
		}
	}
	out, err := packages.Run(ctx, m.env, data.NewMap("ignore_retcode", true, "redirect_stderr", true), slices.Concat([]any{"pacman"}, args, names)...)
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

// fileList returns the files of packages, or of all.
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

// fileDict returns the files of packages, or of all, by package.
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

// owner returns the package that a file is of; of several files a dictionary.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/apachectl
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	owners := &data.Map{}
	for _, path := range a.Paths {
		name, err := m.said(ctx, "-Qqo", path)
		if err != nil {
			return nil, err
		}
		owners.Set(path, name)
	}
	switch owners.Len() {
	case 0:
		return "", nil
	case 1:
		_, name := owners.At(0)
		return name, nil
	}
	return owners, nil
}

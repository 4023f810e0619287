// Package rpm is Salt's module lowpkg on systems with RPM: package queries below the level of the
// package manager (salt/modules/rpm_lowpkg.py).
//
// Differences from Salt: version comparison follows RPM's rules without a library or program.
// file_dict and file_list observe the argument root as the other functions do.
package rpm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module lowpkg for RPM.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "lowpkg", File: "rpm_lowpkg",
		New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("rpm") == "" {
		return nil, errors.New("The rpm execution module failed to load: rpm binary is not in the path.") //nolint:staticcheck // Salt's text
	}
	if !serves(env) {
		return nil, errors.New("The rpm execution module failed to load: only available on redhat/suse type systems or amazon, xcp, xenserver, " + //nolint:staticcheck // Salt's text
			"virtuozzolinux, virtuozzo, issabel pbx or openeuler.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("bin_pkg_info", m.binPkgInfo),
		loader.F("checksum", m.checksum),
		loader.F("diff", m.diff),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("info", m.info),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("modified", m.modified),
		loader.F("owner", m.owner),
		loader.F("verify", m.verify),
		loader.F("version_cmp", m.versionCmp),
	}}, nil
}

func serves(env *loader.Env) bool {
	system, family := strings.ToLower(env.GrainsNow().Text("os")),
		strings.ToLower(env.GrainsNow().Text("os_family"))
	return family == "redhat" || family == "suse" ||
		slices.Contains([]string{"amazon", "xcp", "xenserver", "virtuozzolinux", "virtuozzo",
			"issabel pbx", "openeuler"}, system)
}

// rpm runs the program rpm, below the directory in the argument root.
func (m *module) rpm(
	ctx context.Context, kwargs *data.Map, r calls.Run, args ...any,
) (calls.Ran, error) {
	command := []any{"rpm"}
	if root := kwargs.Value("root"); data.Truth(root) {
		command = append(command, "--root", root)
	}
	return packages.Run(ctx, m.env, r, append(command, args...)...)
}

// lines splits a text into lines without their line ends. An empty text has none.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

type binArgs struct {
	Path    string
	Saltenv any `default:"'base'"`
}

// binPkgInfo returns what a package file contains: name, version, arch and more. The result is
// empty if it is not a package.
//
// path
//
//	A file on the minion, or a URL such as salt://foo.rpm.
//
// CLI Example:
//
//	salt '*' lowpkg.bin_pkg_info /root/foo-1.2.3-1ubuntu1_all.rpm
func (m *module) binPkgInfo(ctx context.Context, a binArgs) (any, error) {
	path, err := packages.Local(ctx, m.env, a.Path, a.Saltenv, func() error {
		there, err := loader.CallAs[bool](ctx, m.env, "file.file_exists", []any{a.Path}, nil)
		if err == nil && !there {
			err = loader.Execution("%s does not exist on minion", a.Path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := packages.Names(path); err != nil {
		return nil, err
	}
	format := strings.Replace(rpm.Format, "(none)", "none", 1)
	out, err := m.rpm(ctx, nil, packages.Quietly(), "-qp", "--queryformat", format, path)
	if err != nil {
		return nil, err
	}
	i, ok := rpm.Parse(out.Stdout, m.env.GrainsNow().Text("osarch"))
	if !ok {
		return nil, nil
	}
	return data.NewMap("name", i.Name, "version", i.Version, "arch", i.Arch, "repoid", i.RepoID,
		"install_date", i.Date, "install_date_time_t", i.Time), nil
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// installed returns the versions of the given packages, or of all, and rpm's messages for missing
// ones.
func (m *module) installed(
	ctx context.Context, a packagesArgs,
) (versions *data.Map, missing []any, err error) {
	if err := packages.Names(a.Packages...); err != nil {
		return nil, nil, err
	}
	args := []any{"-qa", "--queryformat", `%{NAME} %{VERSION}\n`}
	if len(a.Packages) > 0 {
		args[0] = "-q"
	}
	out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), append(args, a.Packages...)...)
	versions = &data.Map{}
	for _, line := range lines(out.Stdout) {
		if strings.Contains(line, "is not installed") {
			missing = append(missing, line)
		} else if f := strings.Fields(line); len(f) > 1 {
			versions.Set(f[0], f[1])
		}
	}
	return versions, missing, err
}

// listPkgs returns the versions of the given packages, or of all installed packages.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.list_pkgs
func (m *module) listPkgs(ctx context.Context, a packagesArgs) (any, error) {
	versions, _, err := m.installed(ctx, a)
	return versions, err
}

// fileList returns the files of the given packages, or of all.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.file_list httpd postfix
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	args := []any{"-qla"}
	if len(a.Packages) > 0 {
		args = append([]any{"-ql"}, a.Packages...)
	}
	out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), args...)
	return data.NewMap("errors", []any{}, "files", data.Values(lines(out.Stdout))), err
}

// fileDict returns the files of the given packages, or of all, by package.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.file_dict httpd postfix
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	versions, missing, err := m.installed(ctx, a)
	if err != nil {
		return nil, err
	}
	files := &data.Map{}
	for name := range versions.All() {
		out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), "-ql", name)
		if err != nil {
			return nil, err
		}
		files.Set(name, data.Values(lines(out.Stdout)))
	}
	return data.NewMap("errors", append([]any{}, missing...), "packages", files), nil
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns the package that owns a file, "" if none does. For several files it returns a
// dictionary.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.owner /usr/bin/apachectl
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	owners := &data.Map{}
	for _, path := range a.Paths {
		if err := packages.Names(path); err != nil {
			return nil, err
		}
		out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), "-qf", "--queryformat",
			"%{name}", path)
		if err != nil {
			return nil, err
		}
		name := out.Stdout
		if strings.Contains(strings.ToLower(name), "not owned") {
			name = ""
		}
		owners.Set(path, name)
	}
	if owners.Len() == 0 {
		return "", nil
	}
	return packages.Alone(owners), nil
}

type diffArgs struct{ PackagePath, Path string }

// diff returns the differences between an installed file and the one in a package file, in the
// format of diff -u.
//
// CLI Example:
//
//	salt '*' lowpkg.diff /path/to/apache2.rpm /etc/apache2/httpd.conf
func (m *module) diff(ctx context.Context, a diffArgs) (any, error) {
	for _, program := range []string{"rpm2cpio", "cpio", "diff"} {
		if process.Find(program) == "" {
			return nil, loader.NotFound("The '%s' binary was not found.", program)
		}
	}
	line := "rpm2cpio " + quote(a.PackagePath) + " | cpio -i --quiet --to-stdout " +
		quote("."+a.Path) + " | diff -u --label " + quote("A "+a.Path) +
		" --from-file=- --label " + quote("B "+a.Path) + " " + quote(a.Path)
	text, err := loader.CallAs[string](ctx, m.env, "cmd.shell", []any{line},
		data.NewMap("output_loglevel", "trace"))
	if err == nil && strings.HasPrefix(text, "Binary file") {
		return "File '" + a.Path + "' is binary and its content has been modified.", nil
	}
	return text, err
}

// quote quotes a word for the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

type cmpArgs struct {
	Ver1, Ver2  any
	IgnoreEpoch any `default:"False"`
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
//	salt '*' lowpkg.version_cmp '0.2-001' '0.2.0.1-002'
func (m *module) versionCmp(_ context.Context, a cmpArgs) (any, error) {
	return rpm.VersionCmp(a.Ver1, a.Ver2, a.IgnoreEpoch), nil
}

// checksum reports for package files whether their digests and signatures are valid.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.checksum /path/to/package1.rpm /path/to/package2.rpm
func (m *module) checksum(ctx context.Context, a pathsArgs) (any, error) {
	if len(a.Paths) == 0 {
		return nil, loader.Execution("No package files has been specified.")
	}
	sound := &data.Map{}
	for _, path := range a.Paths {
		if err := packages.Names(path); err != nil {
			return nil, err
		}
		there, err := loader.CallAs[bool](ctx, m.env, "file.file_exists", []any{path}, nil)
		if err != nil {
			return nil, err
		}
		sound.Set(path, false)
		if there {
			out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), "-K", "--quiet", path)
			if err != nil {
				return nil, err
			}
			sound.Set(path, out.Retcode == 0)
		}
	}
	return sound, nil
}

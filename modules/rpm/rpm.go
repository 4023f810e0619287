// Package rpm is Salt's module lowpkg on systems with RPM: what is known of packages below their package manager
// (salt/modules/rpm_lowpkg.py).
//
// What differs from Salt: versions are compared as RPM does without any library or program, and file_dict and file_list look below
// the argument root as the others do.
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
	"github.com/brineproject/brine/process"
)

// Plugin returns the module lowpkg for RPM.
func Plugin() loader.Plugin { return loader.Plugin{Name: "lowpkg", File: "rpm_lowpkg", New: newModule} }

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
	system, family := strings.ToLower(env.GrainsNow().Text("os")), strings.ToLower(env.GrainsNow().Text("os_family"))
	return family == "redhat" || family == "suse" ||
		slices.Contains([]string{"amazon", "xcp", "xenserver", "virtuozzolinux", "virtuozzo", "issabel pbx", "openeuler"}, system)
}

// rpm runs rpm, below the directory that the argument root names.
func (m *module) rpm(ctx context.Context, kwargs, words *data.Map, args ...any) (packages.Outcome, error) {
	command := []any{"rpm"}
	if root := kwargs.Value("root"); data.Truth(root) {
		command = append(command, "--root", root)
	}
	return packages.Run(ctx, m.env, words, append(command, args...)...)
}

// lines returns the lines of a text without their ends; none of an empty one.
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

// binPkgInfo returns what a package's file says of it: name, version, arch and more; nothing where it is no package.
//
// path
//
//	A file of the minion, or an address such as salt://foo.rpm.
//
// CLI Example:
//
//	salt '*' lowpkg.bin_pkg_info /root/foo-1.2.3-1ubuntu1_all.rpm
func (m *module) binPkgInfo(ctx context.Context, a binArgs) (any, error) {
	path, err := m.local(ctx, a)
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
	return data.NewMap("name", i.Name, "version", i.Version, "arch", i.Arch, "repoid", i.RepoID, "install_date", i.Date, "install_date_time_t", i.Time), nil
}

// local returns a file of the minion that has a package.
func (m *module) local(ctx context.Context, a binArgs) (string, error) {
	address, err := m.env.Call(ctx, "config.valid_fileproto", []any{a.Path}, nil)
	if err != nil {
		return "", err
	}
	if !data.Truth(address) {
		there, err := m.env.Call(ctx, "file.file_exists", []any{a.Path}, nil)
		if err == nil && !data.Truth(there) {
			err = loader.Execution("%s does not exist on minion", a.Path)
		}
		return a.Path, err
	}
	path, err := m.env.Call(ctx, "cp.cache_file", []any{a.Path, a.Saltenv}, nil)
	if err == nil && !data.Truth(path) {
		err = loader.Execution("Unable to retrieve %s from saltenv '%s'", a.Path, data.Str(a.Saltenv))
	}
	return data.Str(path), err
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// installed returns the versions of packages, or of all, and what rpm says of those that there are not.
func (m *module) installed(ctx context.Context, a packagesArgs) (versions *data.Map, missing []any, err error) {
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

// listPkgs returns the versions of packages, or of all that are installed.
//
// root
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' lowpkg.list_pkgs
func (m *module) listPkgs(ctx context.Context, a packagesArgs) (any, error) {
	versions, _, err := m.installed(ctx, a)
	return versions, err
}

// fileList returns the files of packages, or of all.
//
// root
//
//	A directory to take for /.
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

// fileDict returns the files of packages, or of all, by package.
//
// root
//
//	A directory to take for /.
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

// owner returns the package that a file is of; of several files a dictionary. What is of no package has "".
//
// root
//
//	A directory to take for /.
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
		out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), "-qf", "--queryformat", "%{name}", path)
		if err != nil {
			return nil, err
		}
		name := out.Stdout
		if strings.Contains(strings.ToLower(name), "not owned") {
			name = ""
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

type diffArgs struct{ PackagePath, Path string }

// diff returns how a file differs from that in the file of a package, as diff -u does.
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
	line := "rpm2cpio " + quote(a.PackagePath) + " | cpio -i --quiet --to-stdout " + quote("."+a.Path) + " | diff -u --label " + quote("A "+a.Path) +
		" --from-file=- --label " + quote("B "+a.Path) + " " + quote(a.Path)
	v, err := m.env.Call(ctx, "cmd.shell", []any{line}, data.NewMap("output_loglevel", "trace"))
	if text := data.Str(v); err == nil && strings.HasPrefix(text, "Binary file") {
		return "File '" + a.Path + "' is binary and its content has been modified.", nil
	}
	return v, err
}

// quote returns a word as a shell reads it.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

type cmpArgs struct {
	Ver1, Ver2  any
	IgnoreEpoch any `default:"False"`
}

// versionCmp compares two versions: -1 where the first is older, 0 where they are the same, 1 where it is newer.
//
// ignore_epoch : False
//
//	Compare what stands behind the first colon of each.
//
// CLI Example:
//
//	salt '*' lowpkg.version_cmp '0.2-001' '0.2.0.1-002'
func (m *module) versionCmp(_ context.Context, a cmpArgs) (any, error) {
	x, y := data.Str(a.Ver1), data.Str(a.Ver2)
	if data.Truth(a.IgnoreEpoch) {
		x, y = packages.WithoutEpoch(x), packages.WithoutEpoch(y)
	}
	return int64(rpm.CompareEVR(x, y)), nil
}

// checksum tells of files of packages whether their digests and signatures are right.
//
// root
//
//	A directory to take for /.
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
		there, err := m.env.Call(ctx, "file.file_exists", []any{path}, nil)
		if err != nil {
			return nil, err
		}
		sound.Set(path, false)
		if data.Truth(there) {
			out, err := m.rpm(ctx, a.Kwargs, packages.Quietly(), "-K", "--quiet", path)
			if err != nil {
				return nil, err
			}
			sound.Set(path, out.Code == 0)
		}
	}
	return sound, nil
}

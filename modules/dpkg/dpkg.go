// Package dpkg is Salt's module lowpkg on Debian and what comes from it: packages as dpkg has them (salt/modules/dpkg_lowpkg.py).
//
// What differs from Salt: what dselect knows beside dpkg is not looked at, and unpurge takes more than one package.
package dpkg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module lowpkg for Debian, Ubuntu and their like.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "lowpkg", File: "dpkg_lowpkg", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Value("os_family") != "Debian" {
		return nil, errors.New("The dpkg execution module cannot be loaded: only works on Debian family systems.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("bin_pkg_info", m.binPkgInfo),
		loader.F("file_dict", m.fileDict),
		loader.F("file_list", m.fileList),
		loader.F("info", m.info),
		loader.F("list_pkgs", m.listPkgs),
		loader.F("unpurge", m.unpurge),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

// An outcome is what a program gave.
type outcome struct {
	code           int64
	stdout, stderr string
}

// run runs a program without a shell. Further arguments are those of cmd.run_all.
func (m *module) run(ctx context.Context, command []any, kwargs ...any) (outcome, error) {
	all := data.NewMap("output_loglevel", "trace", "python_shell", false)
	all.Update(data.NewMap(kwargs...))
	v, err := m.env.Call(ctx, "cmd.run_all", []any{command}, all)
	if err != nil {
		return outcome{}, err
	}
	ran, _ := v.(*data.Map)
	code, _ := ran.Value("retcode").(int64)
	return outcome{code, ran.Text("stdout"), ran.Text("stderr")}, nil
}

type binArgs struct {
	Path    string
	Saltenv any `default:"'base'"`
}

// binPkgInfo returns the name, version and architecture of the package in a file, which may be elsewhere: salt://, http(s)://.
//
// CLI Example:
//
//	salt '*' lowpkg.bin_pkg_info /root/foo-1.2.3-1ubuntu1_all.deb
//	salt '*' lowpkg.bin_pkg_info salt://foo-1.2.3-1ubuntu1_all.deb
func (m *module) binPkgInfo(ctx context.Context, a binArgs) (any, error) {
	path, err := m.local(ctx, a)
	if err != nil {
		return nil, err
	}
	o, err := m.run(ctx, []any{"dpkg-deb", "--field", path, "Package", "Version", "Architecture"})
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		text := "Unable to get info for " + path
		if o.stderr != "" {
			text += ": " + o.stderr
		}
		return nil, loader.Execution("%s", text)
	}
	return m.described(path, o.stdout)
}

// local returns the path of a file on this host, fetched where it is elsewhere.
func (m *module) local(ctx context.Context, a binArgs) (string, error) {
	remote, err := m.env.Call(ctx, "config.valid_fileproto", []any{a.Path}, nil)
	if err != nil {
		return "", err
	}
	if data.Truth(remote) {
		path, err := m.env.Call(ctx, "cp.cache_file", []any{a.Path, a.Saltenv}, nil)
		if err == nil && !data.Truth(path) {
			err = loader.Execution("Unable to retrieve %s from saltenv '%s'", a.Path, data.Str(a.Saltenv))
		}
		return data.Str(path), err
	}
	if _, err := os.Stat(a.Path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = loader.Execution("%s does not exist on minion", a.Path)
		}
		return "", loader.OSError(err)
	}
	if !filepath.IsAbs(a.Path) {
		return "", loader.Invocation("%s does not exist on minion", a.Path)
	}
	return a.Path, nil
}

// described reads the fields of a package.
func (m *module) described(path, text string) (any, error) {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			found[key] = strings.TrimSpace(value)
		}
	}
	var missing []string
	for _, f := range [][2]string{{"Package", "name"}, {"Version", "version"}, {"Architecture", "arch"}} {
		if found[f[0]] == "" {
			missing = append(missing, f[1])
		}
	}
	if len(missing) > 0 {
		return nil, loader.Execution("Unable to get %s for %s", strings.Join(missing, ", "), path)
	}
	name, arch := found["Package"], found["Architecture"]
	if grains := m.env.GrainsNow(); grains.Value("cpuarch") == "x86_64" && grains.Value("osarch") == "amd64" && arch != "all" && arch != "amd64" {
		name += ":" + arch
	}
	return data.NewMap("name", name, "version", found["Version"], "arch", arch), nil
}

type packagesArgs struct {
	Packages []any `args:"packages"`
}

type kwPackagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// unpurge lets dpkg keep packages that were to be purged. It returns what differs among those that are to be purged.
//
// CLI Example:
//
//	salt '*' lowpkg.unpurge curl
func (m *module) unpurge(ctx context.Context, a packagesArgs) (any, error) {
	if len(a.Packages) == 0 {
		return &data.Map{}, nil
	}
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	before, err := m.purging(ctx)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, name := range a.Packages {
		lines.WriteString(data.Str(name) + " install\n")
	}
	o, err := m.run(ctx, []any{"dpkg", "--set-selections"}, "stdin", lines.String())
	if err == nil && o.code != 0 {
		err = loader.Execution("Unable to set the selection install: %s", o.stderr)
	}
	if err != nil {
		return nil, err
	}
	after, err := m.purging(ctx)
	if err != nil {
		return nil, err
	}
	return packages.Changes(before, after), nil
}

// purging returns the packages that are to be purged and are still there.
func (m *module) purging(ctx context.Context) (*data.Map, error) {
	v, err := m.env.Call(ctx, "pkg.list_pkgs", nil, data.NewMap("purge_desired", true, "use_context", false))
	all, _ := v.(*data.Map)
	return all, err
}

// query asks dpkg-query for fields of packages. What it says where it fails stands in wrong.
func (m *module) query(ctx context.Context, format string, names []any) (text, wrong string, err error) {
	if err := packages.Names(names...); err != nil {
		return "", "", err
	}
	o, err := m.run(ctx, append([]any{"dpkg-query", "-f=" + format, "-W"}, names...))
	if err == nil && o.code != 0 {
		wrong = "Error:  " + o.stderr
		m.env.Log.Error(wrong)
	}
	return o.stdout, wrong, err
}

// listPkgs returns the versions of installed packages: of some, or of all.
//
// CLI Example:
//
//	salt '*' lowpkg.list_pkgs
//	salt '*' lowpkg.list_pkgs hostname
//	salt '*' lowpkg.list_pkgs hostname mount
func (m *module) listPkgs(ctx context.Context, a kwPackagesArgs) (any, error) {
	text, wrong, err := m.query(ctx, "${db:Status-Status}\t${binary:Package}\t${Version}\n", a.Packages)
	if err != nil || wrong != "" {
		return wrong, err
	}
	all := &data.Map{}
	for line := range strings.Lines(text) {
		if cols := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(cols) == 3 && cols[0] == "installed" {
			all.Set(cols[1], cols[2])
		}
	}
	return all, nil
}

// installed returns the names of packages, those of some or of all that are installed.
func (m *module) installed(ctx context.Context, names []any) (found []string, wrong string, err error) {
	text, wrong, err := m.query(ctx, "${db:Status-Status}\t${binary:Package}\n", names)
	if err != nil || wrong != "" {
		return nil, wrong, err
	}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "installed\t"); ok {
			found = append(found, name)
		}
	}
	return found, "", nil
}

// files returns the files of one package.
func (m *module) files(ctx context.Context, name string) ([]string, error) {
	if err := packages.Names(name); err != nil {
		return nil, err
	}
	o, err := m.run(ctx, []any{"dpkg", "-L", name})
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(o.stdout) {
		files = append(files, strings.TrimRight(line, "\n"))
	}
	return files, nil
}

// fileList returns the files of packages, or of all that are installed.
//
// CLI Example:
//
//	salt '*' lowpkg.file_list hostname
//	salt '*' lowpkg.file_list hostname mount
//	salt '*' lowpkg.file_list
func (m *module) fileList(ctx context.Context, a kwPackagesArgs) (any, error) {
	names, wrong, err := m.installed(ctx, a.Packages)
	if err != nil || wrong != "" {
		return wrong, err
	}
	var all []string
	for _, name := range names {
		files, err := m.files(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return data.NewMap("errors", []any{}, "files", data.Values(slices.Compact(all))), nil
}

// fileDict returns the files of packages, or of all that are installed, by package.
//
// CLI Example:
//
//	salt '*' lowpkg.file_dict hostname
//	salt '*' lowpkg.file_dict hostname mount
//	salt '*' lowpkg.file_dict
func (m *module) fileDict(ctx context.Context, a kwPackagesArgs) (any, error) {
	names, wrong, err := m.installed(ctx, a.Packages)
	if err != nil || wrong != "" {
		return wrong, err
	}
	all := &data.Map{}
	for _, name := range names {
		files, err := m.files(ctx, name)
		if err != nil {
			return nil, err
		}
		all.Set(name, data.Values(files))
	}
	return data.NewMap("errors", []any{}, "packages", all), nil
}

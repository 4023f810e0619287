// Package dpkg is Salt's module lowpkg on Debian and its derivatives: packages in dpkg's database
// (salt/modules/dpkg_lowpkg.py).
//
// Differences from Salt: additional data of dselect is ignored, and unpurge accepts more than one
// package.
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
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module lowpkg for Debian, Ubuntu and their derivatives.
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

type binArgs struct {
	Path    string
	Saltenv any `default:"'base'"`
}

// binPkgInfo returns the name, version and architecture of the package in a file, which may be
// given as a URL: salt://, http(s)://.
//
// CLI Example:
//
//	salt '*' lowpkg.bin_pkg_info /root/foo-1.2.3-1ubuntu1_all.deb
//	salt '*' lowpkg.bin_pkg_info salt://foo-1.2.3-1ubuntu1_all.deb
func (m *module) binPkgInfo(ctx context.Context, a binArgs) (any, error) {
	path, err := packages.Local(ctx, m.env, a.Path, a.Saltenv,
		func() error { return isHere(a.Path) })
	if err != nil {
		return nil, err
	}
	o, err := packages.Run(ctx, m.env, calls.Run{}, "dpkg-deb", "--field", path, "Package",
		"Version", "Architecture")
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		text := "Unable to get info for " + path
		if o.Stderr != "" {
			text += ": " + o.Stderr
		}
		return nil, loader.Execution("%s", text)
	}
	return m.described(path, o.Stdout)
}

// isHere returns an error unless path is absolute and exists.
func isHere(path string) error {
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = loader.Execution("%s does not exist on minion", path)
		}
		return loader.OSError(err)
	}
	if !filepath.IsAbs(path) {
		return loader.Invocation("%s does not exist on minion", path)
	}
	return nil
}

// described parses the fields of a package.
func (m *module) described(path, text string) (any, error) {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			found[key] = strings.TrimSpace(value)
		}
	}
	var missing []string
	for _, f := range [][2]string{{"Package", "name"}, {"Version", "version"},
		{"Architecture", "arch"}} {
		if found[f[0]] == "" {
			missing = append(missing, f[1])
		}
	}
	if len(missing) > 0 {
		return nil, loader.Execution("Unable to get %s for %s", strings.Join(missing, ", "), path)
	}
	name, arch := found["Package"], found["Architecture"]
	if grains := m.env.GrainsNow(); grains.Value("cpuarch") == "x86_64" &&
		grains.Value("osarch") == "amd64" && arch != "all" && arch != "amd64" {
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

// unpurge makes dpkg keep packages that are marked to be purged. It returns the changes in the list
// of those packages.
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
	o, err := packages.Run(ctx, m.env, calls.Run{Stdin: lines.String()}, "dpkg", "--set-selections")
	if err == nil && o.Retcode != 0 {
		err = loader.Execution("Unable to set the selection install: %s", o.Stderr)
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

// purging returns the packages that are marked to be purged but are still there.
func (m *module) purging(ctx context.Context) (*data.Map, error) {
	return calls.ListPkgs(ctx, m.env, calls.PkgList{PurgeDesired: true, Fresh: true})
}

// query asks dpkg-query for fields of packages. If it fails, wrong is its error output.
func (m *module) query(
	ctx context.Context, format string, names []any,
) (text, wrong string, err error) {
	if err := packages.Names(names...); err != nil {
		return "", "", err
	}
	o, err := packages.Run(ctx, m.env, calls.Run{},
		append([]any{"dpkg-query", "-f=" + format, "-W"}, names...)...)
	if err == nil && o.Retcode != 0 {
		wrong = "Error:  " + o.Stderr
		m.env.Log.Error(wrong)
	}
	return o.Stdout, wrong, err
}

// listPkgs returns the versions of installed packages, of the named ones or of all.
//
// CLI Example:
//
//	salt '*' lowpkg.list_pkgs
//	salt '*' lowpkg.list_pkgs hostname
//	salt '*' lowpkg.list_pkgs hostname mount
func (m *module) listPkgs(ctx context.Context, a kwPackagesArgs) (any, error) {
	text, wrong, err := m.query(ctx,
		"${db:Status-Status}\t${binary:Package}\t${Version}\n", a.Packages)
	if err != nil || wrong != "" {
		return wrong, err
	}
	all := &data.Map{}
	for line := range strings.Lines(text) {
		if cols := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(cols) == 3 &&
			cols[0] == "installed" {
			all.Set(cols[1], cols[2])
		}
	}
	return all, nil
}

// installed returns the names of the given packages, or of all, that are installed.
func (m *module) installed(
	ctx context.Context, names []any,
) (found []string, wrong string, err error) {
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
	o, err := packages.Run(ctx, m.env, calls.Run{}, "dpkg", "-L", name)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(o.Stdout) {
		files = append(files, strings.TrimRight(line, "\n"))
	}
	return files, nil
}

// fileList returns the files of packages. Without names it returns those of all installed packages.
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

// fileDict returns a dictionary of packages and their files. Without names it covers all installed
// packages.
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

package yumpkg

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// fileList returns the files of the given packages, or of all.
//
// CLI Example:
//
//	salt '*' pkg.file_list httpd postfix
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_list", a.Packages, nil)
}

// fileDict returns the files of the given packages, or of all, by package.
//
// CLI Example:
//
//	salt '*' pkg.file_dict httpd postfix
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_dict", a.Packages, nil)
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns the package that owns a file, "" if none does. For several files it returns a
// dictionary.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/apachectl
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.owner", a.Paths, nil)
}

type modifiedArgs struct {
	Packages []any     `args:"packages"`
	Flags    *data.Map `kwargs:"flags"`
}

// modified returns the files of the given packages, or of all, that differ from their state at
// installation. The arguments are those of lowpkg.modified.
//
// CLI Example:
//
//	salt '*' pkg.modified httpd size=True
func (m *module) modified(ctx context.Context, a modifiedArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.modified", a.Packages, packages.Own(a.Flags))
}

// verify returns how the files of the given packages, or of all, differ from their state at
// installation. The arguments are those of lowpkg.verify.
//
// CLI Example:
//
//	salt '*' pkg.verify httpd ignore_types='[config,doc]'
func (m *module) verify(ctx context.Context, a namesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.verify", a.Names, packages.Own(a.Kwargs))
}

// downloadDir is the directory that pkg.download writes packages to.
const downloadDir = "/var/cache/yum/packages"

// download downloads packages from the repositories without installing them, and returns the paths
// of their files.
//
// CLI Example:
//
//	salt '*' pkg.download httpd postfix
func (m *module) download(ctx context.Context, a packagesArgs) (any, error) {
	return m.fetch(ctx, data.Texts(a.Packages))
}

// fetch downloads packages and returns the paths of their files.
func (m *module) fetch(ctx context.Context, names []string) (*data.Map, error) {
	if process.Find("yumdownloader") == "" {
		return nil, loader.NotFound("The 'yumdownloader' binary was not found.")
	}
	if len(names) == 0 {
		return nil, loader.Invocation("No packages were specified")
	}
	dir := m.path(downloadDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, loader.Execution("download packages: %w", err)
	}
	old, err := downloads(dir, names)
	if err != nil {
		return nil, err
	}
	for _, files := range old {
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				m.env.Log.Errorf("Unable to remove %s: %v", f, err)
			}
		}
	}
	if err := packages.Names(names...); err != nil {
		return nil, err
	}
	if _, err := m.output(ctx, append([]any{"yumdownloader", "-q", "--destdir=" + dir},
		data.Values(names)...)...); err != nil {
		return nil, err
	}
	return m.fetched(dir, names)
}

// fetched returns the downloaded files.
func (m *module) fetched(dir string, names []string) (*data.Map, error) {
	found, err := downloads(dir, names)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	var failed []string
	for _, name := range names {
		files := slices.DeleteFunc(found[name],
			func(f string) bool { return filepath.Ext(f) != ".rpm" })
		if len(files) == 0 {
			failed = append(failed, name)
			continue
		}
		ret.Set(name, downloadDir+"/"+filepath.Base(files[len(files)-1]))
	}
	switch {
	case ret.Len() == 0:
		return nil, loader.Execution("Unable to download any of the following packages: %s",
			strings.Join(names, ", "))
	case len(failed) > 0:
		ret.Set("_error", "The following package(s) failed to download: "+
			strings.Join(failed, ", "))
	}
	return ret, nil
}

// downloads returns the files in a directory whose names begin with those of packages, by package.
func downloads(dir string, names []string) (map[string][]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.Execution("list downloaded packages: %w", err)
	}
	found := map[string][]string{}
	for _, f := range files {
		for _, name := range names {
			if strings.HasPrefix(f.Name(), name+"-") {
				found[name] = append(found[name], filepath.Join(dir, f.Name()))
				break
			}
		}
	}
	return found, nil
}

// diff returns how files differ from those in their packages, which it downloads for the
// comparison.
//
// CLI Example:
//
//	salt '*' pkg.diff /etc/apache2/httpd.conf /etc/sudoers
func (m *module) diff(ctx context.Context, a pathsArgs) (any, error) {
	ret, owned := &data.Map{}, map[string][]string{}
	for _, path := range data.Texts(a.Paths) {
		owner, err := calls.PackageOwner(ctx, m.env, path, nil)
		if err != nil {
			return nil, err
		}
		if owner != "" {
			owned[owner] = append(owned[owner], path)
			continue
		}
		ret.Set(path, "N/A")
		if _, err := os.Stat(m.path(path)); err == nil {
			ret.Set(path, "Not managed")
		}
	}
	if len(owned) == 0 {
		return ret, nil
	}
	owners := slices.Sorted(maps.Keys(owned))
	got, err := m.fetch(ctx, owners)
	if err != nil {
		return nil, err
	}
	for _, owner := range owners {
		for _, path := range owned[owner] {
			text, err := calls.PackageDiff(ctx, m.env, m.path(got.Text(owner)), path)
			if err != nil {
				return nil, err
			}
			if text == "" {
				text = "Unchanged"
			}
			ret.Set(path, text)
		}
	}
	return ret, nil
}

var advisory = regexp.MustCompile(`^([i|\s]) ([^\s]+) +([^\s]+) +([^\s]+)`)

// patches returns the advisories with their packages, and whether all of these are installed.
func (m *module) patches(ctx context.Context) (*data.Map, error) {
	text, err := m.output(ctx, m.program, "--quiet", "updateinfo", "list", "all")
	return parsePatches(text), err
}

func parsePatches(text string) *data.Map {
	all := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		match := advisory.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		patch, _ := all.Value(match[2]).(*data.Map)
		if patch == nil {
			patch = data.NewMap("installed", true, "summary", []any{})
			all.Set(match[2], patch)
		}
		patch.Set("installed", patch.Value("installed") == true && match[1] == "i")
		patch.Set("summary", append(patch.Value("summary").([]any), match[4]))
	}
	return all
}

type listPatchesArgs struct {
	Refresh any       `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listPatches returns the advisories of the repositories by ID: their packages, and whether these
// are installed.
//
// refresh : False
//
//	True: clear the cached repository data first.
//
// CLI Example:
//
//	salt '*' pkg.list_patches
func (m *module) listPatches(ctx context.Context, a listPatchesArgs) (any, error) {
	if data.Truth(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{&data.Map{}}); err != nil {
			return nil, err
		}
	}
	return m.patches(ctx)
}

// listInstalledPatches returns the installed advisories.
//
// CLI Example:
//
//	salt '*' pkg.list_installed_patches
func (m *module) listInstalledPatches(ctx context.Context, _ kwargsArgs) (any, error) {
	all, err := m.patches(ctx)
	for id, p := range all.Clone().All() {
		if p.(*data.Map).Value("installed") != true {
			all.Delete(id)
		}
	}
	return all, err
}

// servicesNeedRestart returns the services that still use files of replaced packages.
//
// CLI Example:
//
//	salt '*' pkg.services_need_restart
func (m *module) servicesNeedRestart(ctx context.Context, _ kwargsArgs) (any, error) {
	if !m.dnf() {
		return nil, loader.Execution("dnf is required to list outdated services.")
	}
	if !systemd.Booted(m.env.Root) {
		return nil, loader.Execution("systemd is required to list outdated services.")
	}
	text, err := m.output(ctx, m.program, "--quiet", "needs-restarting")
	if err != nil {
		return nil, err
	}
	var services []string
	for line := range strings.SplitSeq(text, "\n") {
		if pid, _, ok := strings.Cut(line, ":"); ok {
			if s := m.serviceOf(strings.TrimSpace(pid)); s != "" && !slices.Contains(services, s) {
				services = append(services, s)
			}
		}
	}
	return data.Values(services), nil
}

var unit = regexp.MustCompile(`/([^/]+)\.service(?:/|$)`)

// serviceOf returns the service that a process belongs to, or "".
func (m *module) serviceOf(pid string) string {
	if strings.Trim(pid, "0123456789") != "" || pid == "" {
		return ""
	}
	groups, err := os.ReadFile(m.path("/proc/" + pid + "/cgroup"))
	if err != nil {
		return "" // the process has ended
	}
	for line := range strings.Lines(string(groups)) {
		if match := unit.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			return match[1]
		}
	}
	return ""
}

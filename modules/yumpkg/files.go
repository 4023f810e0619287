package yumpkg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// fileList returns the files of packages, or of all.
//
// CLI Example:
//
//	salt '*' pkg.file_list httpd postfix
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_list", a.Packages, nil)
}

// fileDict returns the files of packages, or of all, by package.
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

// owner returns the package that a file is of; of several files a dictionary. What is of no package has "".
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

// modified returns the files of packages, or of all, that are not as they were installed. The arguments are those of lowpkg.modified.
//
// CLI Example:
//
//	salt '*' pkg.modified httpd size=True
func (m *module) modified(ctx context.Context, a modifiedArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.modified", a.Packages, packages.Own(a.Flags))
}

// verify returns how files of packages, or of all, differ from what they were. The arguments are those of lowpkg.verify.
//
// CLI Example:
//
//	salt '*' pkg.verify httpd ignore_types='[config,doc]'
func (m *module) verify(ctx context.Context, a namesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.verify", a.Names, packages.Own(a.Kwargs))
}

// downloadDir is where pkg.download puts packages.
const downloadDir = "/var/cache/yum/packages"

// download gets packages from the repositories without installing them, and returns where their files are.
//
// CLI Example:
//
//	salt '*' pkg.download httpd postfix
func (m *module) download(ctx context.Context, a packagesArgs) (any, error) {
	if process.Find("yumdownloader") == "" {
		return nil, loader.NotFound("The 'yumdownloader' binary was not found.")
	}
	if len(a.Packages) == 0 {
		return nil, loader.Invocation("No packages were specified")
	}
	dir, names := m.path(downloadDir), data.Texts(a.Packages)
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
	if _, err := m.said(ctx, append([]any{"yumdownloader", "-q", "--destdir=" + dir}, a.Packages...)...); err != nil {
		return nil, err
	}
	return m.fetched(dir, names)
}

// fetched returns the files that were downloaded.
func (m *module) fetched(dir string, names []string) (any, error) {
	found, err := downloads(dir, names)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	var failed []string
	for _, name := range names {
		files := slices.DeleteFunc(found[name], func(f string) bool { return filepath.Ext(f) != ".rpm" })
		if len(files) == 0 {
			failed = append(failed, name)
			continue
		}
		ret.Set(name, downloadDir+"/"+filepath.Base(files[len(files)-1]))
	}
	switch {
	case ret.Len() == 0:
		return nil, loader.Execution("Unable to download any of the following packages: %s", strings.Join(names, ", "))
	case len(failed) > 0:
		ret.Set("_error", "The following package(s) failed to download: "+strings.Join(failed, ", "))
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

// diff returns how files differ from those in their packages, which are downloaded for that.
//
// CLI Example:
//
//	salt '*' pkg.diff /etc/apache2/httpd.conf /etc/sudoers
func (m *module) diff(ctx context.Context, a pathsArgs) (any, error) {
	ret, owned := &data.Map{}, &data.Map{}
	for _, path := range data.Texts(a.Paths) {
		owner, err := m.env.Call(ctx, "lowpkg.owner", []any{path}, nil)
		if err != nil {
			return nil, err
		}
		if data.Truth(owner) {
			owned.Set(owner, append(listOf(owned.Value(owner)), path))
			continue
		}
		ret.Set(path, "N/A")
		if _, err := os.Stat(m.path(path)); err == nil {
			ret.Set(path, "Not managed")
		}
	}
	if owned.Len() == 0 {
		return ret, nil
	}
	v, err := m.download(ctx, packagesArgs{Packages: owned.Keys()})
	if err != nil {
		return nil, err
	}
	for name, paths := range owned.All() {
		for _, path := range paths.([]any) {
			text, err := m.env.Call(ctx, "lowpkg.diff", []any{m.path(v.(*data.Map).Text(name)), path}, nil)
			if err != nil {
				return nil, err
			}
			if !data.Truth(text) {
				text = "Unchanged"
			}
			ret.Set(path, text)
		}
	}
	return ret, nil
}

var advisory = regexp.MustCompile(`^([i|\s]) ([^\s]+) +([^\s]+) +([^\s]+)`)

// patches returns the advisories with their packages, and whether all of those are installed.
func (m *module) patches(ctx context.Context) (*data.Map, error) {
	text, err := m.said(ctx, m.program, "--quiet", "updateinfo", "list", "all")
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

// listPatches returns the advisories of the repositories by their ids: their packages, and whether these are installed.
//
// refresh : False
//
//	True: forget what is known of the repositories first.
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

// listInstalledPatches returns the advisories that are installed.
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

// servicesNeedRestart returns the services that still use files of packages that were replaced.
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
	text, err := m.said(ctx, m.program, "--quiet", "needs-restarting")
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

// serviceOf returns the service that a process is of, or "".
func (m *module) serviceOf(pid string) string {
	if strings.Trim(pid, "0123456789") != "" || pid == "" {
		return ""
	}
	groups, err := os.ReadFile(m.path("/proc/" + pid + "/cgroup"))
	if err != nil {
		return "" // it has ended
	}
	for line := range strings.Lines(string(groups)) {
		if match := unit.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
			return match[1]
		}
	}
	return ""
}

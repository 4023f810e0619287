package yumpkg

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// known is the key of the installed packages in the context of a job.
const known = "pkg.list_pkgs"

type listPkgsArgs struct {
	VersionsAsList any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listPkgs returns the versions of all installed packages.
//
// versions_as_list
//
//	True: a list for each package instead of a text with commas.
//
// attr
//
//	The details to return for each version: all, or a list of epoch, version, release, arch,
//	install_date and install_date_time_t.
//
// CLI Example:
//
//	salt '*' pkg.list_pkgs attr=version,arch
func (m *module) listPkgs(ctx context.Context, a listPkgsArgs) (*data.Map, error) {
	if packages.NoneInstalled(a.Kwargs) {
		return &data.Map{}, nil
	}
	attr := a.Kwargs.Value("attr")
	if attr != nil && attr != "all" {
		attr = data.Values(loader.SplitList(attr))
	}
	use, ok := a.Kwargs.Get("use_context")
	all, err := m.all(ctx, !ok || data.Truth(use))
	if err != nil {
		return nil, err
	}
	return calls.FormatPkgList(ctx, m.env, all, packages.True(a.VersionsAsList), attr)
}

// all returns the details of all installed packages. If cached is true, it uses those in the job's
// context.
func (m *module) all(ctx context.Context, cached bool) (*data.Map, error) {
	if v, ok := loader.ContextOf(ctx).Get(known); ok && cached {
		return v.(*data.Map), nil
	}
	out, err := m.output(ctx, "rpm", "-qa", "--queryformat", rpm.Format+"\n")
	if err != nil {
		return nil, err
	}
	all := rpm.ParseInstalled(out, m.osArch())
	loader.ContextOf(ctx).Set(known, all)
	return all, nil
}

// forget clears the cached list of installed packages.
func forget(ctx context.Context) { loader.ContextOf(ctx).Delete(known) }

// installed returns the installed versions: texts with commas, lists, or the details that attr
// names.
func (m *module) installed(ctx context.Context, asList bool, attr any) (*data.Map, error) {
	kwargs := &data.Map{}
	if data.Truth(attr) {
		kwargs.Set("attr", attr)
	}
	return m.listPkgs(ctx, listPkgsArgs{asList, kwargs})
}

// A listed is a line of the program's list of packages.
type listed struct{ name, version, arch, repo string }

// parseListed parses the program's list of packages. Lines with long names may be broken, so it
// reads words in groups of three.
func parseListed(text, osArch string) []listed {
	var fields []string
	for line := range strings.SplitSeq(text, "\n") {
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "installed packages", "available packages", "available upgrades", "updated packages",
			"upgraded packages":
			continue
		case "obsoleting packages":
			return listedOf(fields, osArch)
		}
		fields = append(fields, strings.Fields(line)...)
	}
	return listedOf(fields, osArch)
}

func listedOf(fields []string, osArch string) []listed {
	var all []listed
	for f := range slices.Chunk(fields, 3) {
		if len(f) < 3 {
			break
		}
		name, arch := f[0], osArch
		if i := strings.LastIndex(name, "."); i >= 0 {
			name, arch = name[:i], name[i+1:]
		}
		all = append(all, listed{rpm.Resolve(name, arch, osArch), strings.TrimRight(f[1], "-"),
			arch, strings.TrimLeft(f[2], "@")})
	}
	return all
}

type namesArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
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

type refreshArgs struct {
	Refresh any       `default:"True"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listUpgrades returns the packages with a newer version, and that version.
//
// refresh : True
//
//	Clear the cached repository data first. fromrepo, enablerepo, disablerepo, disableexcludes,
//	branch and setopt are as in pkg.install.
//
// CLI Example:
//
//	salt '*' pkg.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a refreshArgs) (any, error) {
	if packages.True(a.Refresh) {
		kwargs := packages.Own(a.Kwargs)
		kwargs.Set("check_update", false)
		if _, err := m.refreshDB(ctx, kwargsArgs{kwargs}); err != nil {
			return nil, err
		}
	}
	args := append(append([]any{"--quiet"}, options(a.Kwargs)...),
		"list", map[string]string{"dnf": "upgrades", "dnf5": "--upgrades", "yum": "updates",
			"tdnf": "updates"}[m.program])
	out, err := m.yum(ctx, packages.Quietly(), args...)
	if err != nil || out.Retcode != 0 && strings.Contains(out.Stdout, "Error:") {
		return &data.Map{}, err
	}
	upgrades := &data.Map{}
	for _, l := range parseListed(out.Stdout, m.osArch()) {
		upgrades.Set(l.name, l.version)
	}
	return upgrades, nil
}

// listRepoPkgs returns the versions of packages in the repositories, the newest first. The packages
// are those that match the patterns, or all.
//
// byrepo : False
//
//	True: group the result by repository.
//
// cacheonly : False
//
//	True: use only cached repository data.
//
// fromrepo, enablerepo, disablerepo
//
//	The repositories to search.
//
// CLI Example:
//
//	salt '*' pkg.list_repo_pkgs 'samba4*' fromrepo=base,updates
func (m *module) listRepoPkgs(ctx context.Context, a namesArgs) (*data.Map, error) {
	kwargs := packages.Own(a.Kwargs)
	byRepo, cacheOnly := packages.Take(kwargs, "byrepo", false), packages.Take(kwargs,
		"cacheonly", false)
	repos, err := m.chosenRepos(ctx, kwargs)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string][]string{}
	for _, repo := range repos {
		if err := m.offered(ctx, repo, data.Truth(cacheOnly), a.Names, found); err != nil {
			return nil, err
		}
	}
	if data.Truth(byRepo) {
		all := &data.Map{}
		for repo, pkgs := range found {
			all.Set(repo, newestFirst(pkgs))
		}
		return all, nil
	}
	joined := map[string][]string{}
	for _, pkgs := range found {
		for name, versions := range pkgs {
			joined[name] = append(joined[name], versions...)
		}
	}
	return newestFirst(joined), nil
}

// chosenRepos returns the repositories that the arguments name, or else the enabled ones.
func (m *module) chosenRepos(ctx context.Context, kwargs *data.Map) ([]string, error) {
	from, off, on := packages.Take(kwargs, "fromrepo", nil), packages.Take(kwargs,
		"disablerepo", nil), packages.Take(kwargs, "enablerepo", nil)
	if data.Truth(from) {
		return loader.SplitList(from), nil
	}
	repos, err := m.repos(nil, kwargs)
	if err != nil {
		return nil, err
	}
	var names []string
	for k, v := range repos.All() {
		name, repo := data.Str(k), v.(*data.Map)
		enabled, ok := repo.Get("enabled")
		if slices.Contains(loader.SplitList(on), name) ||
			!slices.Contains(loader.SplitList(off), name) && (!ok || data.Str(enabled) == "1") {
			names = append(names, name)
		}
	}
	return names, nil
}

// offered adds the packages of a repository to found.
func (m *module) offered(
	ctx context.Context, repo string, cacheOnly bool, names []any,
	found map[string]map[string][]string,
) error {
	if err := packages.Names(names...); err != nil {
		return err
	}
	args := []any{"--quiet", "--showduplicates", "repository-packages", repo, "list"}
	switch m.program {
	case "tdnf":
		args = []any{"--quiet", "--enablerepo=" + repo, "list"}
	case "dnf5":
		args = []any{"--quiet", "--repo=" + repo, "list", "--showduplicates"}
	}
	if cacheOnly {
		args = append(args, "-C")
	}
	out, err := m.yum(ctx, packages.Quietly(), append(args, names...)...)
	if err != nil || out.Retcode != 0 && strings.Contains(out.Stdout, "Error:") {
		return err
	}
	for _, l := range parseListed(out.Stdout, m.osArch()) {
		if found[l.repo] == nil {
			found[l.repo] = map[string][]string{}
		}
		if !slices.Contains(found[l.repo][l.name], l.version) {
			found[l.repo][l.name] = append(found[l.repo][l.name], l.version)
		}
	}
	return nil
}

// newestFirst returns packages with their versions, the newest first.
func newestFirst(pkgs map[string][]string) *data.Map {
	var names []string
	for name := range pkgs {
		names = append(names, name)
	}
	slices.Sort(names)
	all := &data.Map{}
	for _, name := range names {
		versions := slices.Clone(pkgs[name])
		slices.SortStableFunc(versions, func(a, b string) int { return rpm.CompareEVR(b, a) })
		all.Set(name, data.Values(versions))
	}
	return all
}

type kwargsArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listDownloaded returns the downloaded packages in the cache, by name and version.
//
// CLI Example:
//
//	salt '*' pkg.list_downloaded
func (m *module) listDownloaded(ctx context.Context, _ kwargsArgs) (any, error) {
	return m.downloaded(ctx)
}

func (m *module) downloaded(ctx context.Context) (*data.Map, error) {
	all := &data.Map{}
	err := filepath.WalkDir(m.path("/var/cache/"+m.program),
		func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".rpm" {
				return err
			}
			info, ok, err := calls.BinPkgInfo(ctx, m.env, path)
			if err != nil || !ok {
				return err
			}
			file, err := d.Info()
			if err != nil {
				return err
			}
			packages.AddDownloaded(all, info, path, file.Size(), file.ModTime())
			return nil
		})
	return all, err
}

// infoInstalled returns the details of installed packages. The arguments are those of lowpkg.info.
//
// CLI Example:
//
//	salt '*' pkg.info_installed bash attr=version,vendor
func (m *module) infoInstalled(ctx context.Context, a namesArgs) (any, error) {
	return packages.InfoInstalled(ctx, m.env, a.Names, packages.Own(a.Kwargs))
}

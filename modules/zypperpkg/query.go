package zypperpkg

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
)

type refreshArgs struct {
	Force any `default:"None"`
	Root  any `default:"None"`
}

// refreshDB refreshes zypper's repositories. For each repository it returns whether there was
// anything new.
//
// force
//
//	Refresh repositories that seem to be unchanged, too. Default: the value of
//	zypper:refreshdb_force in the pillar, or True.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, a refreshArgs) (any, error) {
	packages.Refreshed(m.env)
	force := a.Force
	if force == nil {
		own, _ := m.env.PillarNow().Value("zypper").(*data.Map)
		var ok bool
		if force, ok = own.Get("refreshdb_force"); !ok {
			force = true
		}
	}
	args := []any{"refresh"}
	if data.Truth(force) {
		args = append(args, "--force")
	}
	out, err := m.run(ctx, call{root: a.Root, refresh: true}, args...)
	fresh := &data.Map{}
	for line := range strings.Lines(out.Stdout) {
		line = strings.TrimSpace(line)
		parts := strings.Split(line, "'")
		switch {
		case len(parts) < 3:
		case strings.HasPrefix(line, "Repository") && strings.Contains(line, "is up to date"):
			fresh.Set(strings.TrimSpace(parts[1]), false)
		case strings.HasPrefix(line, "Building") && strings.Contains(line, "done"):
			fresh.Set(strings.TrimSpace(parts[1]), true)
		}
	}
	return fresh, err
}

// maybeRefresh calls refreshDB if wanted is true.
func (m *module) maybeRefresh(ctx context.Context, wanted, root any) error {
	if !data.Truth(wanted) {
		return nil
	}
	_, err := m.refreshDB(ctx, refreshArgs{Root: root})
	return err
}

type upgradesArgs struct {
	Refresh any       `default:"True"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listUpgrades returns the packages with a newer version, and that version.
//
// refresh : True
//
//	Refresh the repositories first.
//
// fromrepo
//
//	The repository to search, or a list of repositories.
//
// CLI Example:
//
//	salt '*' pkg.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a upgradesArgs) (any, error) {
	if err := m.maybeRefresh(ctx, a.Refresh, a.Root); err != nil {
		return nil, err
	}
	args := []any{"list-updates"}
	if repos, ok := a.Kwargs.Get("fromrepo"); ok {
		list, isList := repos.([]any)
		if !isList {
			list = []any{repos}
		}
		for _, r := range list {
			args = append(args, "--repo", data.Str(r))
		}
	}
	nodes, err := m.nodes(ctx, call{root: a.Root, reading: true}, "update", args...)
	upgrades := &data.Map{}
	for _, n := range nodes {
		if n.attrs.Text("kind") == "package" {
			upgrades.Set(n.attrs.Text("name"), n.attrs.Text("edition"))
		}
	}
	return upgrades, err
}

// infoAvailable returns the details of packages in the repositories, by name.
//
// refresh : True
//
//	Refresh the repositories first.
//
// CLI Example:
//
//	salt '*' pkg.info_available vim zsh
func (m *module) infoAvailable(ctx context.Context, a namesArgs) (any, error) {
	return m.available(ctx, a.Names, a.Kwargs)
}

func (m *module) available(ctx context.Context, list []any, kwargs *data.Map) (*data.Map, error) {
	info := &data.Map{}
	if len(list) == 0 {
		return info, nil
	}
	refresh, ok := kwargs.Get("refresh")
	if err := m.maybeRefresh(ctx, !ok || data.Truth(refresh), kwargs.Value("root")); err != nil {
		return nil, err
	}
	for batch := range slices.Chunk(sorted(list), 200) {
		out, err := m.run(ctx, call{root: kwargs.Value("root"), reading: true},
			append([]any{"info", "-t", "package"}, batch...)...)
		if err != nil {
			return nil, err
		}
		info.Update(parseInfo(out.Stdout))
	}
	return info, nil
}

// sorted returns names in alphabetical order without duplicates.
func sorted(list []any) []any {
	var names []string
	for _, n := range list {
		names = append(names, data.Str(n))
	}
	slices.Sort(names)
	var out []any
	for _, n := range slices.Compact(names) {
		out = append(out, n)
	}
	return out
}

// parseInfo parses the output of zypper info.
func parseInfo(text string) *data.Map {
	all := &data.Map{}
	for part := range strings.SplitSeq(text, "Information for package") {
		info := &data.Map{}
		for line := range strings.Lines(part) {
			key, value, ok := strings.Cut(line, ":")
			if key, value = strings.TrimSpace(key), strings.TrimSpace(value); ok && value != "" &&
				!strings.HasPrefix(line, "-----") {
				info.Set(strings.ToLower(key), value)
			}
		}
		name := info.Text("name")
		if name == "" {
			continue
		}
		info.Delete("name")
		if v := info.Text("installed"); v != "" {
			info.Set("installed", strings.HasPrefix(strings.ToLower(v), "yes"))
		}
		all.Set(name, info)
	}
	return all
}

// latestVersion returns the newest available versions of packages: a text for one package, a
// dictionary for several. It is "" if the newest version is installed or the package does not
// exist.
//
// refresh : True
//
//	Refresh the repositories first.
//
// CLI Example:
//
//	salt '*' pkg.latest_version vim zsh
func (m *module) latestVersion(ctx context.Context, a namesArgs) (any, error) {
	info, err := m.available(ctx, a.Names, a.Kwargs)
	if err != nil {
		return nil, err
	}
	latest := &data.Map{}
	for _, name := range sorted(a.Names) {
		p, _ := info.Value(name).(*data.Map)
		latest.Set(name, "")
		if status := strings.ToLower(p.Text("status")); strings.Contains(status, "not installed") ||
			strings.Contains(status, "out-of-date") {
			latest.Set(name, p.Value("version"))
		}
	}
	return packages.Alone(latest), nil
}

type nameKwargs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// upgradeAvailable reports whether a newer version of a package is available.
//
// CLI Example:
//
//	salt '*' pkg.upgrade_available vim
func (m *module) upgradeAvailable(ctx context.Context, a nameKwargs) (any, error) {
	v, err := m.latestVersion(ctx, namesArgs{[]any{a.Name}, a.Kwargs})
	return data.Truth(v), err
}

type repoPkgsArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listRepoPkgs returns the versions of packages in the repositories, the newest first. The packages
// are those that match the patterns, or all.
//
// fromrepo
//
//	The repository to search. Default: all.
//
// byrepo : False
//
//	True: group the result by repository.
//
// CLI Example:
//
//	salt '*' pkg.list_repo_pkgs 'python3*' fromrepo=updates
func (m *module) listRepoPkgs(ctx context.Context, a repoPkgsArgs) (any, error) {
	nodes, err := m.nodes(ctx, call{root: a.Kwargs.Value("root")},
		"solvable", append([]any{"se", "-s"}, a.Args...)...)
	all := &data.Map{}
	for _, n := range nodes {
		repo, name := n.attrs.Text("repository"), n.attrs.Text("name")
		if n.attrs.Text("kind") != "package" || repo == "" || !fits(name, a.Args) ||
			data.Truth(a.Kwargs.Value("fromrepo")) && repo != a.Kwargs.Text("fromrepo") {
			continue
		}
		into := all
		if data.Truth(a.Kwargs.Value("byrepo")) {
			into, _ = all.Value(repo).(*data.Map)
			if into == nil {
				into = &data.Map{}
				all.Set(repo, into)
			}
		}
		addVersion(into, name, n.attrs.Text("edition"))
	}
	return all, err
}

// addVersion adds a version to those of a package, which are sorted with the newest first.
func addVersion(pkgs *data.Map, name, version string) {
	versions := listOf(pkgs.Value(name))
	if !slices.Contains(versions, any(version)) {
		versions = append(versions, version)
	}
	slices.SortStableFunc(versions,
		func(a, b any) int { return rpm.CompareEVR(b.(string), a.(string)) })
	pkgs.Set(name, versions)
}

func fits(name string, patterns []any) bool {
	for _, p := range patterns {
		if ok, err := path.Match(data.Str(p), name); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

type searchArgs struct {
	Criteria string
	Refresh  any       `default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// search returns the packages that zypper finds, by name.
//
// refresh : False
//
//	True: refresh the repositories first.
//
// match
//
//	exact, words or substrings.
//
// provides, recommends, requires, suggests, conflicts, obsoletes, file_list, search_descriptions,
// case_sensitive, installed_only, not_installed_only, details
//
//	Passed to zypper as options.
//
// CLI Example:
//
//	salt '*' pkg.search vim match=exact
func (m *module) search(ctx context.Context, a searchArgs) (any, error) {
	root := a.Kwargs.Value("root")
	if err := m.maybeRefresh(ctx, a.Refresh, root); err != nil {
		return nil, err
	}
	args := []any{"search"}
	if match := a.Kwargs.Text("match"); slices.Contains([]string{"exact", "words", "substrings"},
		match) {
		args = append(args, "--match-"+match)
	}
	known := strings.Fields("provides recommends requires suggests conflicts obsoletes file_list search_descriptions case_sensitive installed_only not_installed_only details")
	for k := range a.Kwargs.All() {
		switch name := data.Str(k); {
		case name == "not_installed_only":
			args = append(args, "-u")
		case slices.Contains(known, name):
			args = append(args, "--"+strings.ReplaceAll(name, "_", "-"))
		}
	}
	nodes, err := m.nodes(ctx, call{root: root, reading: true, quiet: true},
		"solvable", append(args, a.Criteria)...)
	if err == nil && len(nodes) == 0 {
		err = loader.Execution("No packages found matching '%s'", a.Criteria)
	}
	found := &data.Map{}
	for _, n := range nodes {
		found.Set(n.attrs.Text("name"), n.attrs)
	}
	return found, err
}

type patternsArgs struct {
	Refresh any `default:"False"`
	Root    any `default:"None"`
}

type patchesArgs struct {
	Refresh any       `default:"False"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

type installedPatchesArgs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// kind returns all objects of a kind by name: whether each is installed, and its summary.
func (m *module) kind(ctx context.Context, kind string, root any) (*data.Map, error) {
	nodes, err := m.nodes(ctx, call{root: root, reading: true}, "solvable", "se", "-t", kind)
	all := &data.Map{}
	for _, n := range nodes {
		all.Set(n.attrs.Text("name"), data.NewMap("installed",
			n.attrs.Text("status") == "installed", "summary", n.attrs.Text("summary")))
	}
	return all, err
}

// listPatterns returns the package patterns: whether each is installed, and its summary.
//
// CLI Example:
//
//	salt '*' pkg.list_patterns
func (m *module) listPatterns(ctx context.Context, a patternsArgs) (any, error) {
	if err := m.maybeRefresh(ctx, a.Refresh, a.Root); err != nil {
		return nil, err
	}
	return m.kind(ctx, "pattern", a.Root)
}

// listPatches returns the patches of the repositories: whether each is installed, and its summary.
//
// CLI Example:
//
//	salt '*' pkg.list_patches
func (m *module) listPatches(ctx context.Context, a patchesArgs) (any, error) {
	if err := m.maybeRefresh(ctx, a.Refresh, a.Root); err != nil {
		return nil, err
	}
	return m.kind(ctx, "patch", a.Root)
}

// listInstalledPatches returns the installed patches.
//
// CLI Example:
//
//	salt '*' pkg.list_installed_patches
func (m *module) listInstalledPatches(ctx context.Context, a installedPatchesArgs) (any, error) {
	return m.installedKind(ctx, "patch", a.Root)
}

// listInstalledPatterns returns the installed package patterns.
//
// CLI Example:
//
//	salt '*' pkg.list_installed_patterns
func (m *module) listInstalledPatterns(ctx context.Context, a rootArgs) (any, error) {
	return m.installedKind(ctx, "pattern", a.Root)
}

// installedKind returns the installed objects of a kind.
func (m *module) installedKind(ctx context.Context, kind string, root any) (*data.Map, error) {
	all, err := m.kind(ctx, kind, root)
	for name, p := range all.Clone().All() {
		if p.(*data.Map).Value("installed") != true {
			all.Delete(name)
		}
	}
	return all, err
}

package zypperpkg

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name              any       `default:"None"`
	Refresh           any       `default:"False"`
	Fromrepo          any       `default:"None"`
	Pkgs              any       `default:"None"`
	Sources           any       `default:"None"`
	Downloadonly      any       `default:"None"`
	SkipVerify        any       `default:"False"`
	Version           any       `default:"None"`
	IgnoreRepoFailure any       `default:"False"`
	NoRecommends      any       `default:"False"`
	Root              any       `default:"None"`
	Kwargs            *data.Map `kwargs:"kwargs"`
}

// install installs packages or changes their versions, and returns the changes by package: old and
// new versions.
//
// name, version
//
//	The package; its version, a pattern with a star, or a condition such as >=1.2.
//
// refresh
//
//	True: refresh the repositories first.
//
// fromrepo
//
//	The repository of the packages.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version.
//
// sources
//
//	A list of dictionaries of name and file.
//
// skip_verify
//
//	True: do not check signatures.
//
// ignore_repo_failure
//
//	True: ignore failing repositories.
//
// no_recommends
//
//	True: do not install recommended packages.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' pkg.install vim refresh=True
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	if err := m.maybeRefresh(ctx, a.Refresh, a.Root); err != nil {
		return nil, err
	}
	targets, err := m.targets(ctx, a)
	if err != nil || len(targets) == 0 {
		return &data.Map{}, err
	}
	list := func() (*data.Map, error) {
		if data.Truth(a.Downloadonly) {
			return m.downloaded(ctx, a.Root)
		}
		return m.installed(ctx, a.Root, a.Kwargs.Value("diff_attr"), kindsOf(targets))
	}
	return m.changing(list, func() error {
		c := call{root: a.Root, scoped: true, anyRepos: data.Truth(a.IgnoreRepoFailure)}
		args := installWords(a)
		var lower []any
		for batch := range slices.Chunk(targets, 500) {
			out, err := m.run(ctx, c, slices.Concat(args, batch)...)
			if err != nil {
				return err
			}
			lower = append(lower, lowerVersions(out.Stdout)...)
		}
		for batch := range slices.Chunk(lower, 500) {
			if _, err := m.run(ctx, c, slices.Concat(args, []any{"--force"},
				batch)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// changing calls act and returns the changes that it made in a list.
func (m *module) changing(list func() (*data.Map, error), act func() error) (*data.Map, error) {
	before, err := list()
	if err == nil {
		err = act()
	}
	if err != nil {
		return nil, err
	}
	after, err := list()
	return packages.Changes(before, after), err
}

// installWords returns zypper's arguments up to the packages.
func installWords(a installArgs) []any {
	args := []any{"install", "--auto-agree-with-licenses", "--name"}
	if data.Truth(a.Kwargs.Value("resolve_capabilities")) {
		args[2] = "--capability"
	}
	if !data.Truth(a.Refresh) {
		args = append([]any{"--no-refresh"}, args...)
	}
	if data.Truth(a.SkipVerify) {
		args = append([]any{"--no-gpg-checks"}, args...)
	}
	if data.Truth(a.Downloadonly) {
		args = append(args, "--download-only")
	}
	if data.Truth(a.Fromrepo) {
		args = append(args, "--force", "--force-resolution", "--from", a.Fromrepo)
	}
	if data.Truth(a.NoRecommends) {
		args = append(args, "--no-recommends")
	}
	return args
}

var lowerVersion = regexp.MustCompile(`^The selected package '([^']+)'.+has lower version`)

// lowerVersions returns the packages that zypper does not install because a newer version is
// installed.
func lowerVersions(text string) (names []any) {
	for line := range strings.Lines(text) {
		if match := lowerVersion.FindStringSubmatch(line); match != nil {
			names = append(names, match[1])
		}
	}
	return names
}

// targets returns zypper's arguments for the requested packages.
func (m *module) targets(ctx context.Context, a installArgs) ([]any, error) {
	t, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, Sources: a.Sources, More: packages.Own(a.Kwargs),
	})
	switch {
	case err != nil || t.Empty():
		return nil, err
	case t.Type == "advisory":
		return m.advisories(ctx, t.List, a.Root)
	case len(t.List) > 0:
		return data.Values(t.List), nil
	}
	pkgs := t.Packages
	if data.Truth(a.Version) && data.Truth(a.Name) && !data.Truth(a.Pkgs) &&
		!data.Truth(a.Sources) {
		version, err := m.offered(ctx, data.Str(a.Name), data.Str(a.Version), a.Root)
		if err != nil {
			return nil, err
		}
		if version != "" {
			pkgs = data.NewMap(a.Name, version)
		}
	}
	var targets []any
	for name, version := range pkgs.All() {
		target := data.Str(name)
		if version != nil {
			oper, bare := packages.Split(data.Str(version))
			if oper == "" {
				oper = "="
			}
			target += oper + bare
		}
		targets = append(targets, target)
	}
	return targets, nil
}

func (m *module) advisories(ctx context.Context, ids []string, root any) ([]any, error) {
	patches, err := m.kind(ctx, "patch", root)
	if err != nil {
		return nil, err
	}
	var targets []any
	for _, id := range ids {
		if !patches.Has(id) {
			return nil, loader.Execution("Advisory id \"%s\" not found", id)
		}
		targets = append(targets, "patch:"+id)
	}
	return targets, nil
}

// offered returns the newest version of a package that matches a pattern, with the relation before
// the pattern. It returns "" if there is none.
func (m *module) offered(ctx context.Context, name, pattern string, root any) (string, error) {
	bare := strings.NewReplacer("<", "", ">", "", "=", "", "+", "").Replace(pattern)
	oper := strings.ReplaceAll(pattern, bare, "")
	if oper != "" && !slices.Contains([]string{"<", "<=", "=", ">=", ">"}, oper) {
		return "", loader.Execution("Zypper do not supports operator \"%s\".", oper)
	}
	nodes, err := m.nodes(ctx, call{root: root, reading: true}, "solvable", "se", "-xv", name)
	if err == nil && len(nodes) == 0 {
		err = loader.Execution("No packages found matching '%s'", name)
	}
	newest := ""
	for _, n := range nodes {
		edition := n.attrs.Text("edition")
		if ok, bad := path.Match(bare, edition); ok && bad == nil &&
			(newest == "" || rpm.CompareEVR(edition, newest) > 0) {
			newest = edition
		}
	}
	if newest == "" {
		return "", err
	}
	return oper + newest, err
}

type upgradeArgs struct {
	Name           any       `default:"None"`
	Pkgs           any       `default:"None"`
	Refresh        any       `default:"True"`
	Dryrun         any       `default:"False"`
	DistUpgrade    any       `default:"False"`
	Fromrepo       any       `default:"None"`
	Novendorchange any       `default:"False"`
	SkipVerify     any       `default:"False"`
	NoRecommends   any       `default:"False"`
	Root           any       `default:"None"`
	DiffAttr       any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// upgrade upgrades the given packages, or all, and returns the changes by package.
//
// refresh : True
//
//	Refresh the repositories first.
//
// dryrun : False
//
//	True: change nothing and return zypper's report.
//
// dist_upgrade : False
//
//	True: upgrade the distribution to the state of the repositories.
//
// fromrepo
//
//	The repository to use, or a list of repositories.
//
// novendorchange, no_recommends
//
//	With dist_upgrade: keep the vendors of packages; do not install recommended packages.
//
// skip_verify
//
//	True: do not check signatures.
//
// CLI Example:
//
//	salt '*' pkg.upgrade
func (m *module) upgrade(ctx context.Context, a upgradeArgs) (any, error) {
	if err := m.maybeRefresh(ctx, a.Refresh, a.Root); err != nil {
		return nil, err
	}
	args, err := m.upgradeWords(ctx, a)
	if err != nil {
		return nil, err
	}
	c := call{root: a.Root, scoped: true, quiet: true}
	if data.Truth(a.DistUpgrade) && data.Truth(a.Dryrun) {
		if _, err := m.run(ctx, c, append(args[:len(args):len(args)],
			"--debug-solver")...); err != nil {
			return nil, err
		}
	}
	var out calls.Ran
	list := func() (*data.Map, error) { return m.installed(ctx, a.Root, a.DiffAttr, nil) }
	changes, err := m.changing(list, func() (err error) {
		out, err = m.run(ctx, c, args...)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !succeeded(out.Retcode):
		return nil, loader.ExecutionInfo("Problem encountered upgrading packages",
			data.NewMap("changes", changes, "result",
				data.NewMap("retcode", int64(out.Retcode), "stdout", out.Stdout,
					"stderr", out.Stderr, "pid", out.Map.Value("pid"))))
	case data.Truth(a.Dryrun):
		return strings.TrimSpace(out.Stdout + "\n" + out.Stderr), nil
	}
	return changes, nil
}

func (m *module) upgradeWords(ctx context.Context, a upgradeArgs) ([]any, error) {
	dist := data.Truth(a.DistUpgrade)
	args, from := []any{"update", "--auto-agree-with-licenses"}, "--repo"
	if dist {
		args[0], from = "dist-upgrade", "--from"
	}
	if data.Truth(a.SkipVerify) {
		args = append([]any{"--no-gpg-checks"}, args...)
	}
	if data.Truth(a.Dryrun) {
		args = append(args, "--dry-run")
	}
	repos := listOf(a.Fromrepo)
	if text, ok := a.Fromrepo.(string); ok && text != "" {
		repos = []any{text}
	}
	for _, r := range repos {
		args = append(args, from, r)
	}
	if dist && data.Truth(a.Novendorchange) {
		args = append(args, "--no-allow-vendor-change")
	}
	if dist && data.Truth(a.NoRecommends) {
		args = append(args, "--no-recommends")
	}
	if dist || !data.Truth(a.Name) && !data.Truth(a.Pkgs) {
		return args, nil
	}
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, More: packages.Own(a.Kwargs),
	})
	return append(args, wanted.Packages.Keys()...), err
}

type removeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes packages and returns the changes by package.
//
// CLI Example:
//
//	salt '*' pkg.remove vim,zsh
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{Name: a.Name, Pkgs: a.Pkgs})
	if err != nil {
		return nil, err
	}
	pkgs := wanted.Packages
	list := func() (*data.Map, error) { return m.installed(ctx, a.Root, nil, kindsOf(pkgs.Keys())) }
	installed, err := list()
	if err != nil {
		return nil, err
	}
	var targets []any
	for name, version := range pkgs.All() {
		have := installed.Text(name)
		switch {
		case have == "":
		case !data.Truth(version):
			targets = append(targets, name)
		case slices.Contains(strings.Split(have, ","), data.Str(version)):
			targets = append(targets, data.Str(name)+"-"+data.Str(version))
		}
	}
	if len(targets) == 0 {
		return &data.Map{}, nil
	}
	return m.changing(list, func() error {
		for batch := range slices.Chunk(targets, 500) {
			if _, err := m.run(ctx, call{root: a.Root, scoped: true},
				append([]any{"remove"}, batch...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// purge is the same as pkg.remove, because RPM keeps nothing of removed packages.
//
// CLI Example:
//
//	salt '*' pkg.purge vim,zsh
func (m *module) purge(ctx context.Context, a removeArgs) (any, error) { return m.remove(ctx, a) }

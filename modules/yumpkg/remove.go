package yumpkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type removeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes packages and returns the changes by package.
//
// name
//
//	The package, several separated by commas, or a pattern with a star.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version.
//
// CLI Example:
//
//	salt '*' pkg.remove foo,bar,baz
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{Name: a.Name, Pkgs: a.Pkgs})
	if err != nil {
		return nil, err
	}
	old, err := m.installed(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	targets := m.removable(wanted.Packages, old, a.Kwargs)
	if len(targets) == 0 {
		return &data.Map{}, nil
	}
	out, err := m.yum(ctx, calls.Run{}, append([]any{"-y", "remove"}, targets...)...)
	if err != nil {
		return nil, err
	}
	forget(ctx)
	now, err := m.installed(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	changes := packages.Changes(old, now)
	if out.Retcode != 0 && out.Stderr != "" {
		return nil, loader.ExecutionInfo("Error occurred removing package(s)",
			data.NewMap("errors", []any{out.Stderr}, "changes", changes))
	}
	return changes, nil
}

// removable returns the program's arguments for the installed packages to remove.
func (m *module) removable(pkgs, old, kwargs *data.Map) []any {
	wanted := &data.Map{}
	for name, version := range pkgs.All() {
		if !strings.Contains(data.Str(name), "*") {
			wanted.Set(name, version)
			continue
		}
		for have := range old.All() {
			if loader.Glob(data.Str(name), data.Str(have)) {
				wanted.Set(have, version)
			}
		}
	}
	var targets []any
	for k, version := range wanted.All() {
		name := data.Str(k)
		have, ok := old.Get(name)
		switch {
		case !ok:
		case !data.Truth(version):
			targets = append(targets, name)
		case slices.Contains(strings.Split(data.Str(have), ","), data.Str(version)):
			bare, arch := splitArch(name, m.osArch(), kwargs)
			targets = append(targets, bare+"-"+packages.WithoutEpoch(data.Str(version))+arch)
		}
	}
	return targets
}

// purge is the same as pkg.remove, because RPM keeps nothing of removed packages.
//
// CLI Example:
//
//	salt '*' pkg.purge foo,bar,baz
func (m *module) purge(ctx context.Context, a removeArgs) (any, error) {
	return m.remove(ctx, removeArgs{Name: a.Name, Pkgs: a.Pkgs, Kwargs: &data.Map{}})
}

type upgradeArgs struct {
	Name       any       `default:"None"`
	Pkgs       any       `default:"None"`
	Refresh    any       `default:"True"`
	SkipVerify any       `default:"False"`
	Normalize  any       `default:"True"`
	Minimal    any       `default:"False"`
	Obsoletes  any       `default:"True"`
	DiffAttr   any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// upgrade upgrades the given packages, or all, and returns the changes by package. Other arguments
// become options of the program: security=True is --security, and exclude='kernel*' is
// --exclude=kernel*.
//
// refresh : True
//
//	Clear the cached repository data first.
//
// minimal
//
//	True: upgrade only to versions with bug fixes.
//
// obsoletes
//
//	False: do not replace obsolete packages.
//
// diff_attr
//
//	The details to return of changed versions: see attr of pkg.list_pkgs.
//
// CLI Example:
//
//	salt '*' pkg.upgrade security=True exclude='kernel*'
func (m *module) upgrade(ctx context.Context, a upgradeArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	obsoletes := data.Truth(a.Obsoletes)
	if m.dnf() && !obsoletes {
		kept := slices.DeleteFunc(loader.SplitList(kwargs.Value("setopt")),
			func(o string) bool { return strings.HasPrefix(o, "obsoletes=") || o == "" })
		kwargs.Set("setopt", data.Values(append(kept, "obsoletes=False")))
	}
	if packages.True(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{kwargs}); err != nil {
			return nil, err
		}
	}
	old, err := m.installed(ctx, false, a.DiffAttr)
	if err != nil {
		return nil, err
	}
	args, err := m.upgradeWords(ctx, a, kwargs)
	if err != nil {
		return nil, err
	}
	out, err := m.yum(ctx, calls.Run{}, args...)
	if err != nil {
		return nil, err
	}
	forget(ctx)
	now, err := m.installed(ctx, false, a.DiffAttr)
	if err != nil {
		return nil, err
	}
	changes := packages.Changes(old, now)
	if out.Retcode != 0 {
		return nil, loader.ExecutionInfo("Problem encountered upgrading packages",
			data.NewMap("changes", changes, "result", out.Map))
	}
	return changes, nil
}

func (m *module) upgradeWords(ctx context.Context, a upgradeArgs, kwargs *data.Map) ([]any, error) {
	verb := "upgrade"
	if !data.Truth(a.Obsoletes) && !m.dnf() {
		verb = "update"
	}
	if data.Truth(a.Minimal) {
		verb += "-minimal"
	}
	args := append(append([]any{"--quiet", "-y"}, options(kwargs)...), extraOptions(kwargs)...)
	if data.Truth(a.SkipVerify) {
		args = append(args, "--nogpgcheck")
	}
	args = append(args, verb)
	if !data.Truth(a.Name) && !data.Truth(a.Pkgs) {
		return args, nil
	}
	more := kwargs.Clone()
	more.Set("normalize", a.Normalize)
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, More: more,
	})
	return append(args, wanted.Packages.Keys()...), err
}

type updateArgs struct {
	Name       any       `default:"None"`
	Pkgs       any       `default:"None"`
	Refresh    any       `default:"True"`
	SkipVerify any       `default:"False"`
	Normalize  any       `default:"True"`
	Minimal    any       `default:"False"`
	Obsoletes  any       `default:"False"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// update is pkg.upgrade without replacing obsolete packages.
//
// CLI Example:
//
//	salt '*' pkg.update
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	return m.upgrade(ctx, upgradeArgs{Name: a.Name, Pkgs: a.Pkgs, Refresh: a.Refresh,
		SkipVerify: a.SkipVerify, Normalize: a.Normalize, Minimal: a.Minimal,
		Obsoletes: a.Obsoletes, Kwargs: a.Kwargs})
}

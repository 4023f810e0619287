package aptpkg

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

// remove removes packages but keeps their configuration files. It returns the packages that are
// gone.
//
// name
//
//	One package, or several separated by commas.
//
// pkgs
//
//	Instead of name: a list of packages.
//
// CLI Example:
//
//	salt '*' pkg.remove <package name>
//	salt '*' pkg.remove <package1>,<package2>,<package3>
//	salt '*' pkg.remove pkgs='["foo", "bar"]'
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "remove", a)
}

// purge removes packages with their configuration files, including those of packages removed
// earlier. It returns the packages that are gone: installed ones, and removed ones.
//
// name
//
//	One package, or several separated by commas.
//
// pkgs
//
//	Instead of name: a list of packages.
//
// CLI Example:
//
//	salt '*' pkg.purge <package name>
//	salt '*' pkg.purge <package1>,<package2>,<package3>
//	salt '*' pkg.purge pkgs='["foo", "bar"]'
func (m *module) purge(ctx context.Context, a removeArgs) (any, error) {
	return m.uninstall(ctx, "purge", a)
}

func (m *module) uninstall(ctx context.Context, action string, a removeArgs) (any, error) {
	wanted, _, err := m.targets(ctx, installArgs{Name: a.Name, Pkgs: a.Pkgs})
	if err != nil {
		return nil, err
	}
	before, err := m.installedAndRemoved(ctx)
	if err != nil {
		return nil, err
	}
	command := []string{"apt-get", "-q", "-y", action}
	for _, t := range wanted {
		if before[0].Has(t.name) || action == "purge" && before[1].Has(t.name) {
			command = append(command, t.name)
		}
	}
	if len(command) == 4 {
		return &data.Map{}, nil
	}
	o, err := m.change(ctx, calls.Run{Env: m.environment(a.Kwargs.Value("env"))}, command)
	if err != nil {
		return nil, err
	}
	forget(ctx)
	after, err := m.installedAndRemoved(ctx)
	if err != nil {
		return nil, err
	}
	changes := packages.Changes(before[0], after[0])
	if action == "purge" {
		changes = data.NewMap("removed", packages.Changes(before[1], after[1]),
			"installed", changes)
	}
	var problems []string
	if text := failure(o); text != "" {
		problems = append(problems, text)
	}
	return changes, problem("Problem encountered removing package(s)", problems, changes)
}

// installedAndRemoved returns the installed packages, and those that were removed but not purged.
func (m *module) installedAndRemoved(ctx context.Context) (both [2]*data.Map, err error) {
	for i, removed := range []bool{false, true} {
		if both[i], err = m.now(ctx, removed); err != nil {
			return both, err
		}
	}
	return both, nil
}

type autoremoveArgs struct {
	ListOnly bool `default:"False"`
	Purge    bool `default:"False"`
}

// autoremove removes packages that were installed automatically and are no longer needed. It
// returns the packages that are gone.
//
// list_only : False
//
//	Only return their names.
//
// purge : False
//
//	Also remove their configuration files.
//
// CLI Example:
//
//	salt '*' pkg.autoremove
//	salt '*' pkg.autoremove list_only=True
//	salt '*' pkg.autoremove purge=True
func (m *module) autoremove(ctx context.Context, a autoremoveArgs) (any, error) {
	answer := "--assume-yes"
	if a.ListOnly {
		answer = "--assume-no"
	}
	command := []string{"apt-get", answer}
	if a.Purge {
		command = append(command, "--purge")
	}
	command = append(command, "autoremove")
	if a.ListOnly {
		o, err := m.apt(ctx, packages.Quietly(), data.Values(command)...)
		return data.Values(parseRemoved(o.Stdout)), err
	}
	old, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	o, err := m.change(ctx, packages.Quietly(), command)
	if err != nil {
		return nil, err
	}
	forget(ctx)
	now, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	if text := failure(o); text != "" {
		return nil, problem("Problem encountered removing package(s)", []string{text},
			packages.Changes(old, now))
	}
	return packages.Changes(old, now), nil
}

// parseRemoved returns the packages that apt-get would remove, sorted. apt-get marks those that it
// would purge with a star.
func parseRemoved(text string) []string {
	names, found := []string{}, false
	for line := range strings.Lines(text) {
		switch {
		case found && strings.HasPrefix(line, " "):
			for _, name := range strings.Fields(line) {
				names = append(names, strings.TrimSuffix(name, "*"))
			}
		case found:
			found = false
		default:
			found = strings.Contains(line, "The following packages will be REMOVED:")
		}
	}
	slices.Sort(names)
	return names
}

type upgradeArgs struct {
	Refresh     any       `default:"True"`
	DistUpgrade bool      `default:"False"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// upgrade upgrades all packages. It returns the packages whose version changed.
//
// refresh : True
//
//	Refresh the package lists first.
//
// cache_valid_time : 0
//
//	But do not refresh lists younger than this number of seconds.
//
// dist_upgrade : False
//
//	Like apt-get dist-upgrade, which also installs and removes packages.
//
// pkgs
//
//	Upgrade only these packages.
//
// download_only, force_yes, force_conf_new, skip_verify, allow_downgrades
//
//	Options of apt-get: only download the files, answer yes to everything, replace configuration
//	files, accept unsigned packages, and accept older versions.
//
// CLI Example:
//
//	salt '*' pkg.upgrade
func (m *module) upgrade(ctx context.Context, a upgradeArgs) (any, error) {
	if packages.True(a.Refresh) {
		if _, err := m.refresh(ctx, a.Kwargs.Value("cache_valid_time"), false); err != nil {
			return nil, err
		}
	}
	old, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	o, err := m.change(ctx, calls.Run{}, a.command())
	if err != nil {
		return nil, err
	}
	forget(ctx)
	now, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	changes := packages.Changes(old, now)
	if o.Retcode != 0 {
		result := data.NewMap("retcode", int64(o.Retcode), "stdout", o.Stdout, "stderr", o.Stderr)
		return nil, loader.ExecutionInfo("Problem encountered upgrading packages",
			data.NewMap("changes", changes, "result", result))
	}
	return changes, nil
}

func (a upgradeArgs) command() []string {
	command := append([]string{"apt-get", "-q", "-y"}, conffiles(a.Kwargs)...)
	for _, o := range [][2]string{
		{"force_yes", "--force-yes"}, {"skip_verify", "--allow-unauthenticated"}, {"download_only",
			"--download-only"},
		{"downloadonly", "--download-only"}, {"allow_downgrades", "--allow-downgrades"},
	} {
		if data.Truth(a.Kwargs.Value(o[0])) && !slices.Contains(command, o[1]) {
			command = append(command, o[1])
		}
	}
	pkgs, _ := a.Kwargs.Value("pkgs").([]any)
	switch {
	case len(pkgs) > 0:
		return slices.Concat(command, []string{"--only-upgrade", "install"}, data.Texts(pkgs))
	case a.DistUpgrade:
		return append(command, "dist-upgrade")
	}
	return append(command, "upgrade")
}

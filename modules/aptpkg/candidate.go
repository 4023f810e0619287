package aptpkg

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// latestVersion returns the version of a package that apt would install or upgrade to. It is "" if
// that version is installed already, or if there is none. For several names it returns a
// dictionary.
//
// refresh : True
//
//	Refresh the package lists first.
//
// cache_valid_time : 0
//
//	But do not refresh lists younger than this number of seconds.
//
// fromrepo
//
//	The release to take packages from.
//
// show_installed : False
//
//	Return the version even if it is installed.
//
// CLI Example:
//
//	salt '*' pkg.latest_version <package name>
//	salt '*' pkg.latest_version <package name> fromrepo=unstable
//	salt '*' pkg.latest_version <package1> <package2> <package3> ...
func (m *module) latestVersion(ctx context.Context, a versionArgs) (any, error) {
	if a.Kwargs.Has("repo") {
		return nil, loader.Invocation("The 'repo' argument is invalid, use 'fromrepo' instead")
	}
	if len(a.Names) == 0 {
		return "", nil
	}
	if refresh, ok := a.Kwargs.Get("refresh"); !ok || packages.True(refresh) {
		if _, err := m.refresh(ctx, a.Kwargs.Value("cache_valid_time"), false); err != nil {
			return nil, err
		}
	}
	names := data.Texts(a.Names)
	found, err := m.latest(ctx, names, text(a.Kwargs.Value("fromrepo")),
		packages.True(a.Kwargs.Value("show_installed")))
	if err != nil {
		return nil, err
	}
	if len(names) == 1 {
		return found.Value(names[0]), nil
	}
	return found, nil
}

// latest returns by name the versions to install or upgrade to.
func (m *module) latest(
	ctx context.Context, names []string, release string, installed bool,
) (*data.Map, error) {
	l, err := m.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	there := l.pick(false, false)
	candidates, err := m.candidates(ctx, names, release)
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, name := range names {
		candidate := candidates[name]
		versions, _ := there.Value(name).([]any)
		if !installed && slices.ContainsFunc(versions,
			func(v any) bool { return packages.Holds(data.Str(v), ">=", candidate, compare) }) {
			candidate = ""
		}
		found.Set(name, candidate)
	}
	return found, nil
}

// candidates asks apt which version of each package it would install.
func (m *module) candidates(
	ctx context.Context, names []string, release string,
) (map[string]string, error) {
	if err := packages.Names(names...); err != nil {
		return nil, err
	}
	command := append([]string{"apt-cache", "-q", "policy"}, names...)
	if release != "" {
		command = append(command, "-o", "APT::Default-Release="+release)
	}
	o, err := m.apt(ctx, calls.Run{}, data.Values(command)...)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("Unable to get the versions of %s from apt-cache: %s",
			strings.Join(names, ", "), failure(o))
	}
	policies, found := parsePolicy(o.Stdout), map[string]string{}
	for _, name := range names {
		candidate, ok := policies[name]
		if !ok {
			candidate = policies[m.normal(name)]
		}
		found[name] = candidate
	}
	return found, nil
}

// parsePolicy parses the output of apt-cache policy: the candidate of each package, "" for none.
func parsePolicy(text string) map[string]string {
	found, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if head, ok := strings.CutSuffix(line, ":"); ok && head != "" && head[0] != ' ' {
			name = head
			continue
		}
		if candidate, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate:"); ok &&
			name != "" {
			if candidate = strings.TrimSpace(candidate); candidate == "(none)" {
				candidate = ""
			}
			found[name] = candidate
			name = ""
		}
	}
	return found
}

type upgradeAvailableArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// upgradeAvailable returns whether there is a version of a package to install or upgrade to. It
// refreshes the package lists first.
//
// CLI Example:
//
//	salt '*' pkg.upgrade_available <package name>
func (m *module) upgradeAvailable(ctx context.Context, a upgradeAvailableArgs) (any, error) {
	v, err := m.latestVersion(ctx, versionArgs{Names: []any{a.Name}, Kwargs: &data.Map{}})
	return v != "", err
}

type upgradesArgs struct {
	Refresh     any       `default:"True"`
	DistUpgrade bool      `default:"True"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// listUpgrades returns the packages that can be upgraded, with their new versions.
//
// refresh : True
//
//	Refresh the package lists first.
//
// cache_valid_time : 0
//
//	But do not refresh lists younger than this number of seconds.
//
// dist_upgrade : True
//
//	Simulate apt-get dist-upgrade instead of apt-get upgrade.
//
// fromrepo
//
//	The release to take packages from.
//
// CLI Example:
//
//	salt '*' pkg.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a upgradesArgs) (any, error) {
	if packages.True(a.Refresh) {
		if _, err := m.refresh(ctx, a.Kwargs.Value("cache_valid_time"), false); err != nil {
			return nil, err
		}
	}
	command := []string{"apt-get", "--just-print", "upgrade"}
	if a.DistUpgrade {
		command[2] = "dist-upgrade"
	}
	if release := text(a.Kwargs.Value("fromrepo")); release != "" {
		command = append(command, "-o", "APT::Default-Release="+release)
	}
	o, err := m.apt(ctx, calls.Run{}, data.Values(command)...)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("Failed to get upgrades: %s", failure(o))
	}
	return parseUpgrades(o.Stdout), nil
}

// confLine matches a line such as Conf libxfont1 (1:1.4.5-1 Debian:testing [i386]).
var confLine = regexp.MustCompile(`(?m)^Conf ([^ \n]+) \(([^ \n]+)`)

func parseUpgrades(text string) *data.Map {
	found := &data.Map{}
	for _, line := range confLine.FindAllStringSubmatch(text, -1) {
		found.Set(line[1], line[2])
	}
	return found
}

type repoPkgsArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listRepoPkgs returns the available versions of packages, newest first. Without names it returns
// those of all packages.
//
// CLI Example:
//
//	salt '*' pkg.list_repo_pkgs
//	salt '*' pkg.list_repo_pkgs foo bar baz
func (m *module) listRepoPkgs(ctx context.Context, a repoPkgsArgs) (*data.Map, error) {
	if err := packages.Names(a.Args...); err != nil {
		return nil, err
	}
	command := []string{"apt-cache", "dump"}
	if len(a.Args) > 0 {
		command = append([]string{"apt-cache", "show"}, data.Texts(a.Args)...)
	}
	o, err := m.apt(ctx, packages.Quietly(), data.Values(command)...)
	if err != nil {
		return nil, err
	}
	return parseVersions(o.Stdout), nil
}

// parseVersions parses the versions of packages in the output of apt-cache show or dump.
func parseVersions(text string) *data.Map {
	found, name := &data.Map{}, ""
	for line := range strings.Lines(text) {
		if own, ok := strings.CutPrefix(line, "Package: "); ok {
			name = strings.TrimSpace(own)
			continue
		}
		if cols := strings.Fields(line); len(cols) > 1 && cols[0] == "Version:" && name != "" {
			packages.Add(found, name, strings.Join(cols[1:], " "))
		}
	}
	return found
}

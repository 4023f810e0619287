package aptpkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name         any       `default:"None"`
	Refresh      any       `default:"False"`
	Fromrepo     any       `default:"None"`
	SkipVerify   bool      `default:"False"`
	Debconf      any       `default:"None"`
	Pkgs         any       `default:"None"`
	Sources      any       `default:"None"`
	Reinstall    bool      `default:"False"`
	Downloadonly bool      `default:"False"`
	IgnoreEpoch  bool      `default:"False"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// install installs packages, or upgrades them to the requested versions. It returns the packages
// whose version changed: {'<package>': {'old': '<version>', 'new': '<version>'}}.
//
// name
//
//	One package, or several separated by commas. An architecture may follow after a colon.
//
// pkgs, sources
//
//	Instead of name: a list of packages, each a name or a dictionary of name and version; or a list
//	of dictionaries of name and file. Files may be URLs: salt://, http(s)://.
//
// version
//
//	The version of name: a version, a pattern, or a condition such as >=1.2.
//
// ignore_epoch : False
//
//	Ignore epochs when versions are compared with conditions.
//
// refresh, cache_valid_time
//
//	Refresh the package lists first, unless they are younger than this number of seconds.
//
// fromrepo
//
//	The release to take packages from.
//
// debconf
//
//	A file with debconf answers.
//
// reinstall, downloadonly
//
//	Reinstall packages that have the version already; only download the files.
//
// skip_verify, force_yes, force_conf_new, install_recommends, only_upgrade
//
//	Options of apt-get: accept unsigned packages, answer yes to everything, replace configuration
//	files, install recommended packages or not, and skip packages that are not installed.
//
// CLI Example:
//
//	salt '*' pkg.install <package name>
//	salt '*' pkg.install pkgs='["foo", {"bar": "1.2.3-0ubuntu0"}]'
//	salt '*' pkg.install sources='[{"foo": "salt://foo.deb"},{"bar": "salt://bar.deb"}]'
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	needsRefresh, err := m.needsRefresh(ctx, a)
	if err != nil {
		return nil, err
	}
	if data.Truth(a.Debconf) {
		if _, err := m.env.Call(ctx, "debconf.set_file", []any{a.Debconf}, nil); err != nil {
			return nil, err
		}
	}
	wanted, fromFiles, err := m.targets(ctx, a)
	if err != nil || len(wanted) == 0 {
		return &data.Map{}, err
	}
	if needsRefresh {
		if _, err := m.refresh(ctx, a.Kwargs.Value("cache_valid_time"), false); err != nil {
			return nil, err
		}
	}
	old, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	p := &plan{a: a, files: fromFiles, old: old}
	if err := m.choose(ctx, p, wanted); err != nil {
		return nil, err
	}
	changes, err := m.execute(ctx, p)
	if err != nil {
		return nil, err
	}
	return changes, problem("Problem encountered installing package(s)", p.problems, changes)
}

// needsRefresh reports whether the package lists must be refreshed: if a refresh was requested, and
// not all wanted versions are the newest known ones.
func (m *module) needsRefresh(ctx context.Context, a installArgs) (bool, error) {
	if !packages.True(a.Refresh) {
		return false, nil
	}
	want := map[string]string{}
	if version := a.Kwargs.Value("version"); data.Truth(version) {
		want[data.Str(a.Name)] = data.Str(version)
	}
	if list, ok := a.Pkgs.([]any); ok && len(list) > 0 {
		clear(want)
		for _, p := range list {
			one, ok := p.(*data.Map)
			if !ok || one.Len() == 0 {
				return true, nil
			}
			name, version := one.At(0)
			want[data.Str(name)] = data.Str(version)
		}
	}
	if len(want) == 0 {
		return true, nil
	}
	for name, version := range want {
		found, err := m.latest(ctx, []string{name}, "", true)
		if err != nil || found.Value(name) != version {
			return err == nil, err
		}
	}
	return false, nil
}

// A target is one thing to install: a package with a version or a condition on it, or a file.
type target struct {
	name, version, path string
	any                 bool // any version will do
}

// targets returns the packages or files that are meant.
func (m *module) targets(
	ctx context.Context, a installArgs,
) (wanted []target, files bool, err error) {
	kwargs := packages.Own(a.Kwargs)
	for _, own := range []string{"name", "pkgs", "sources"} {
		kwargs.Delete(own)
	}
	t, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, Sources: a.Sources, More: kwargs,
	})
	if err != nil {
		return nil, false, err
	}
	if len(t.List) > 0 {
		wanted, err = m.fileTargets(ctx, t.List)
		return wanted, true, err
	}
	for name, version := range t.Packages.All() {
		wanted = append(wanted, target{name: data.Str(name), version: text(version),
			any: version == nil})
	}
	return wanted, false, nil
}

// fileTargets reads the names and versions of packages from their files.
func (m *module) fileTargets(ctx context.Context, paths []string) ([]target, error) {
	var wanted []target
	for _, path := range paths {
		// apt-get reports files that are not packages
		info, _, err := calls.BinPkgInfo(ctx, m.env, path)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, target{name: info.Name, version: info.Version, path: path})
	}
	return wanted, nil
}

// A plan is what an installation will do.
type plan struct {
	a     installArgs
	files bool
	old   *data.Map // versions by name, before the installation

	install, downgrade []string
	again              []target
	problems           []string
}

// choose sorts the targets into those to install, to downgrade and to reinstall.
func (m *module) choose(ctx context.Context, p *plan, wanted []target) error {
	available, err := m.available(ctx, p, wanted)
	if err != nil {
		return err
	}
	for _, t := range wanted {
		word := t.path
		if !p.files {
			if word = t.name; !t.any {
				version, ok := p.exact(t, available)
				if !ok {
					continue
				}
				t.version = version
				word += "=" + version
			}
		}
		p.sort(t, word)
	}
	return nil
}

// conditional reports whether a version is a condition.
func conditional(version string) bool {
	return strings.HasPrefix(version, "<") || strings.HasPrefix(version, ">")
}

// available returns the available versions of the packages whose version is a condition.
func (m *module) available(ctx context.Context, p *plan, wanted []target) (*data.Map, error) {
	var names []any
	for _, t := range wanted {
		if !p.files && conditional(t.version) {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return &data.Map{}, nil
	}
	return m.listRepoPkgs(ctx, repoPkgsArgs{Args: names})
}

// exact returns the version to install. A condition that no version meets is a problem.
func (p *plan) exact(t target, available *data.Map) (string, bool) {
	if !conditional(t.version) {
		return strings.TrimLeft(t.version, "="), true
	}
	list, _ := available.Value(t.name).([]any)
	candidates := data.Texts(list)
	if version, ok := packages.Match(t.version, candidates, p.compare); ok {
		return version, true
	}
	shown := "None"
	if len(candidates) > 0 {
		shown = strings.Join(candidates, ", ")
	}
	p.problems = append(p.problems, "No version matching '"+t.name+t.version+
		"' could be found (available: "+shown+")")
	return "", false
}

func (p *plan) compare(a, b string) (int, bool) {
	if p.a.IgnoreEpoch {
		a, b = packages.WithoutEpoch(a), packages.WithoutEpoch(b)
	}
	return compare(a, b)
}

// sort adds a target to the right list; word is its argument for apt-get.
func (p *plan) sort(t target, word string) {
	now := p.old.Text(t.name)
	switch {
	case p.a.Reinstall && now != "" && (t.any || packages.Holds(t.version, "==", now, compare)):
		t.path = word
		p.again = append(p.again, t)
	case t.any || now == "" || packages.Holds(t.version, ">=", now, compare):
		p.install = append(p.install, word)
	default:
		p.downgrade = append(p.downgrade, word)
	}
}

// commands returns the command lines of a plan.
func (p *plan) commands() [][]string {
	var again []string
	for _, t := range p.again {
		again = append(again, t.path)
	}
	var out [][]string
	for _, part := range []struct {
		words  []string
		option string
	}{{p.install, ""}, {p.downgrade, "--allow-downgrades"}, {again, "--reinstall"}} {
		if len(part.words) == 0 {
			continue
		}
		command := p.options()
		if part.option != "" {
			command = append(command, part.option)
		}
		out = append(out, slices.Concat(command, []string{"install"}, part.words))
	}
	return out
}

// options returns the common first arguments of every command line.
func (p *plan) options() []string {
	kwargs := p.a.Kwargs
	command := []string{"apt-get", "-q", "-y"}
	if data.Truth(kwargs.Value("force_yes")) {
		command = append(command, "--force-yes")
	}
	command = append(command, conffiles(kwargs)...)
	if recommends, ok := kwargs.Get("install_recommends"); ok {
		if data.Truth(recommends) {
			command = append(command, "--install-recommends")
		} else {
			command = append(command, "--no-install-recommends")
		}
	}
	for _, o := range []struct {
		wanted bool
		option string
	}{
		{data.Truth(kwargs.Value("only_upgrade")), "--only-upgrade"}, {p.a.SkipVerify,
			"--allow-unauthenticated"},
		{p.a.Downloadonly, "--download-only"},
	} {
		if o.wanted {
			command = append(command, o.option)
		}
	}
	if release := p.release(); release != "" && !p.files {
		command = append(command, "-t", release)
	}
	return command
}

// release returns the release to take packages from, "" for none.
func (p *plan) release() string {
	if data.Truth(p.a.Fromrepo) {
		return data.Str(p.a.Fromrepo)
	}
	return text(p.a.Kwargs.Value("repo"))
}

// conffiles returns the options for dpkg about changed configuration files.
func conffiles(kwargs *data.Map) []string {
	if data.Truth(kwargs.Value("force_conf_new")) {
		return []string{"-o", "DPkg::Options::=--force-confnew"}
	}
	return []string{"-o", "DPkg::Options::=--force-confold", "-o",
		"DPkg::Options::=--force-confdef"}
}

// execute runs the commands of a plan and returns the changes. Holds of its packages are lifted
// during the run.
func (m *module) execute(ctx context.Context, p *plan) (*data.Map, error) {
	commands := p.commands()
	if len(commands) == 0 {
		return &data.Map{}, nil
	}
	held, err := m.heldOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := m.setSelection(ctx, held, "install"); err != nil {
		return nil, err
	}
	for _, command := range commands {
		o, err := m.change(ctx, m.passed(p.a.Kwargs), command)
		if err != nil {
			p.problems = append(p.problems, err.Error())
		} else if text := failure(o); text != "" {
			p.problems = append(p.problems, text)
		}
	}
	forget(ctx)
	if err := m.setSelection(ctx, held, "hold"); err != nil {
		p.problems = append(p.problems, err.Error())
	}
	now, err := m.now(ctx, false)
	if err != nil {
		return nil, err
	}
	changes := packages.Changes(p.old, now)
	for _, t := range p.again {
		changes.Set(t.name, data.NewMap("old", p.old.Text(t.name), "new", now.Text(t.name)))
	}
	return changes, nil
}

// heldOf returns those packages of a plan that are held.
func (m *module) heldOf(ctx context.Context, p *plan) ([]string, error) {
	all, err := m.selections(ctx, "")
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, word := range slices.Concat(p.install, p.downgrade) {
		name, _, _ := strings.Cut(word, "=")
		named[name] = true
	}
	for _, t := range p.again {
		named[t.name] = true
	}
	var held []string
	for _, name := range all["hold"] {
		if named[name] || named[m.normal(name)] {
			held = append(held, name)
		}
	}
	return held, nil
}

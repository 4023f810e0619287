package pkg

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// A plan is one call of pkg.installed.
type plan struct {
	a       installedArgs
	kwargs  *data.Map
	refresh bool

	now      *data.Map // installed packages with lists of their versions
	provides *data.Map // packages by capability

	desired   *data.Map // versions by package, nil for any, or files
	targets   *data.Map // packages to install
	reinstall *data.Map // packages to reinstall
	altered   *data.Map // files that pkg.verify found modified, by package
	unpurge   []string  // packages selected for purging that are to be kept
	warnings  []string

	problems []string
	versions bool // versions were compared
}

func (p *plan) files() bool { return data.Truth(p.a.Sources) }

func (p *plan) rule() rule { return rule{ignoreEpoch: p.a.IgnoreEpoch} }

// find determines what to do. A non-nil result ends the state.
func (m *module) find(ctx context.Context, p *plan) (*data.Map, error) {
	if data.Truth(p.a.Pkgs) && p.files() {
		return change.Failed(p.a.Name, `Only one of "pkgs" and "sources" is permitted.`), nil
	}
	for _, step := range []func(context.Context, *plan) (*data.Map, error){m.look, m.want, m.suggest, m.newest, m.choose} {
		if ret, err := step(ctx, p); ret != nil || err != nil {
			return ret, err
		}
	}
	switch {
	case len(p.problems) > 0:
		return change.Failed(p.a.Name, strings.Join(p.problems, " ")), nil
	case p.targets.Len() == 0 && p.reinstall.Len() == 0 && len(p.unpurge) == 0:
		text := "All specified packages are already installed"
		if p.versions && !p.files() {
			text += " and are at the desired version"
		}
		return with(change.Unchanged(p.a.Name, text), p.warnings), nil
	}
	return nil, nil
}

// look reads the installed packages, and what they provide if names may be capabilities.
func (m *module) look(ctx context.Context, p *plan) (*data.Map, error) {
	var err error
	if p.now, err = m.pkgs(ctx, p.kwargs); err == nil && p.resolves(m) {
		p.provides, err = calls.ListProvides(ctx, m.env, p.kwargs)
	}
	if err != nil && caught(err) {
		return change.Failed(p.a.Name, err.Error()), nil
	}
	return nil, err
}

func (p *plan) resolves(m *module) bool {
	return data.Truth(p.kwargs.Value("resolve_capabilities")) && m.has("pkg.list_provides")
}

// want determines the desired packages, and which of them are currently selected for purging.
func (m *module) want(ctx context.Context, p *plan) (*data.Map, error) {
	var err error
	word := "pkgs"
	if p.files() {
		word = "sources"
		p.desired, err = calls.PackSources(ctx, m.env, p.a.Sources, p.a.Normalize)
	} else {
		p.desired, err = m.repack(ctx, p.a.Pkgs, p.a.Normalize)
	}
	if err != nil {
		return nil, err
	}
	if p.desired.Len() == 0 {
		return change.Failed(p.a.Name, "Invalidly formatted '"+word+
			"' parameter. See minion log."), nil
	}
	purging, err := calls.ListPkgs(ctx, m.env, calls.PkgList{
		AsLists: true, PurgeDesired: true, More: p.kwargs,
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names(p.desired) {
		if purging.Has(name) {
			p.unpurge = append(p.unpurge, name)
		}
	}
	return nil, nil
}

// suggest searches for packages that do not exist, if the package manager supports it.
func (m *module) suggest(ctx context.Context, p *plan) (*data.Map, error) {
	if p.files() || p.a.SkipSuggestions {
		return nil, nil
	}
	var missing []string
	for name, version := range p.desired.All() {
		there := p.now.Has(name)
		if there && version != nil {
			var err error
			if there, err = m.fulfilled(ctx, texts(p.now.Value(name)), data.Str(version),
				p.rule()); err != nil {
				return nil, err
			}
		}
		if !there {
			missing = append(missing, data.Str(name))
		}
	}
	lost, err := m.preflight(ctx, missing, p.kwargs)
	if err != nil || lost == "" {
		return nil, err
	}
	return change.Failed(p.a.Name, lost), nil
}

// preflight returns an error message for packages that do not exist, if the package manager can
// tell; "" otherwise.
func (m *module) preflight(
	ctx context.Context, missing []string, kwargs *data.Map,
) (string, error) {
	if len(missing) == 0 || !m.has("pkg.check_db") {
		return "", nil
	}
	db, err := calls.CheckDB(ctx, m.env, missing, kwargs)
	if err != nil {
		if caught(err) {
			err = nil
		}
		return "", err
	}
	var lost, comments []string
	for pkg, v := range db.All() {
		about := v.(*data.Map)
		if about.Value("found") != false {
			continue
		}
		if like := texts(about.Value("suggestions")); len(like) > 0 {
			comments = append(comments, "Package '"+data.Str(pkg)+"' not found (possible matches: "+
				strings.Join(like, ", ")+")")
		} else {
			lost = append(lost, data.Str(pkg))
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		comments = slices.Insert(comments, 0,
			"The following package(s) were not found, and no possible matches were found in the package db: "+strings.Join(lost, ", "))
	}
	if len(comments) > 1 {
		comments = append(comments, "")
	}
	return strings.TrimRight(strings.Join(comments, ". "), " "), nil
}

// newest replaces the word latest by the newest version.
func (m *module) newest(ctx context.Context, p *plan) (*data.Map, error) {
	var wanted []string
	for name, version := range p.desired.All() {
		if version == "latest" && !p.files() {
			wanted = append(wanted, data.Str(name))
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	kwargs := p.kwargs.Clone()
	kwargs.Set("refresh", p.refresh)
	found, err := calls.LatestVersion(ctx, m.env, wanted, kwargs)
	if err != nil {
		return nil, err
	}
	p.refresh = false
	for name, version := range found.All() {
		if now := texts(p.now.Value(name)); !data.Truth(version) && len(now) > 0 {
			version = now[len(now)-1]
		}
		if !data.Truth(version) {
			version = nil
		}
		p.desired.Set(name, version)
	}
	return nil, nil
}

// choose sorts the desired packages into those to install, those to reinstall, and those that are
// as desired.
func (m *module) choose(ctx context.Context, p *plan) (*data.Map, error) {
	p.targets, p.reinstall, p.altered = &data.Map{}, &data.Map{}, &data.Map{}
	var failed string
	for name, wanted := range p.desired.All() {
		now := p.versionsOf(data.Str(name))
		if len(now) == 0 {
			p.targets.Set(name, wanted)
			continue
		}
		if p.a.Reinstall {
			p.reinstall.Set(name, wanted)
			continue
		}
		wrong, err := m.weigh(ctx, p, data.Str(name), wanted, now)
		if err != nil {
			return nil, err
		}
		if wrong != "" {
			failed = wrong
		}
	}
	if failed != "" {
		p.problems = append(p.problems, failed)
	}
	return nil, nil
}

// versionsOf returns the installed versions of a package, or of the packages that provide it.
func (p *plan) versionsOf(name string) []string {
	now := texts(p.now.Value(name))
	if len(now) == 0 {
		if by := texts(p.provides.Value(name)); len(by) > 0 {
			return texts(p.now.Value(by[0]))
		}
	}
	return now
}

// weigh decides what to do about an installed package. The string result is set if its files could
// not be verified.
func (m *module) weigh(
	ctx context.Context, p *plan, name string, wanted any, now []string,
) (string, error) {
	version, over, err := m.wantedVersion(ctx, p, name, wanted)
	if err != nil || over {
		return "", err
	}
	if version == "" {
		return m.verify(ctx, p, name, wanted)
	}
	r := p.rule()
	r.updates = !p.files() && p.a.AllowUpdates
	good, err := m.fulfilled(ctx, now, version, r)
	switch {
	case err != nil && caught(err):
		p.problems = append(p.problems, err.Error())
		return "", nil
	case err != nil:
		return "", err
	}
	p.versions = true
	if good {
		return m.verify(ctx, p, name, wanted)
	}
	p.targets.Set(name, wanted)
	return "", nil
}

// wantedVersion returns the desired version of an installed package, "" for any. over is true if
// the package needs no further check.
func (m *module) wantedVersion(
	ctx context.Context, p *plan, name string, wanted any,
) (version string, over bool, err error) {
	if p.files() {
		version, err = m.fileVersion(ctx, p, wanted)
		return version, version == "", err
	}
	good, err := calls.CheckExtraRequirements(ctx, m.env, name, wanted)
	if err != nil {
		return "", true, err
	}
	if !good {
		p.targets.Set(name, wanted)
		return "", true, nil
	}
	bare, err := calls.VersionClean(ctx, m.env, wanted)
	if err != nil || bare == "" {
		return "", false, err
	}
	return data.Str(wanted), false, nil
}

// fileVersion returns the version of the package in a file, "" if unknown.
func (m *module) fileVersion(ctx context.Context, p *plan, source any) (string, error) {
	if !m.has("lowpkg.bin_pkg_info") {
		return "", nil
	}
	path, err := packages.Fetched(ctx, m.env, source, p.kwargs.Value("saltenv"))
	switch {
	case err != nil && caught(err):
		p.problems = append(p.problems, "Unable to cache "+data.Str(source)+": "+err.Error())
		return "", nil
	case err != nil:
		return "", err
	case path == "":
		p.problems = append(p.problems, "Unable to cache "+data.Str(source)+": file not found")
		return "", nil
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		p.problems = append(p.problems, data.Str(source)+" does not exist on minion")
		return "", nil
	}
	about, ok, err := calls.BinPkgInfo(ctx, m.env, path)
	if err == nil && !ok {
		p.warnings = append(p.warnings, "Failed to parse metadata for "+data.Str(source))
	}
	return about.Version, err
}

// verifies reports whether the files of installed packages are to be verified.
func (p *plan) verifies() bool {
	_, isList := p.a.PkgVerify.([]any)
	return isList && data.Truth(p.a.PkgVerify) || p.a.PkgVerify == true
}

// verify adds a package to reinstall if its files were modified. The string result is set if that
// could not be determined.
func (m *module) verify(ctx context.Context, p *plan, name string, wanted any) (string, error) {
	if !p.verifies() || p.files() {
		return "", nil
	}
	altered, err := m.verified(ctx, p, name)
	switch {
	case err != nil && (caught(err) || loader.KindOf(err) == loader.KindInvocation):
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	if altered.Len() > 0 {
		p.reinstall.Set(name, wanted)
		p.altered.Set(name, altered)
	}
	return "", nil
}

// verified returns the modified files of a package.
func (m *module) verified(ctx context.Context, p *plan, name string) (*data.Map, error) {
	kwargs := p.kwargs.Clone()
	for _, option := range []string{"ignore_types", "verify_options"} {
		kwargs.Set(option, []any{})
		list, _ := p.a.PkgVerify.([]any)
		for _, e := range list {
			if one, ok := e.(*data.Map); ok && one.Value(option) != nil {
				kwargs.Set(option, one.Value(option))
				break
			}
		}
	}
	return calls.PkgVerify(ctx, m.env, name, kwargs)
}

package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type installedArgs struct {
	Name            any
	Version         any       `default:"None"`
	Refresh         any       `default:"None"`
	Fromrepo        any       `default:"None"`
	SkipVerify      bool      `default:"False"`
	SkipSuggestions bool      `default:"False"`
	Pkgs            any       `default:"None"`
	Sources         any       `default:"None"`
	AllowUpdates    bool      `default:"False"`
	PkgVerify       any       `default:"False"`
	Normalize       bool      `default:"True"`
	IgnoreEpoch     any       `default:"None"`
	Reinstall       bool      `default:"False"`
	UpdateHolds     bool      `default:"False"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// installed installs packages, optionally in certain versions.
//
// pkgs, sources
//
//	A list of packages instead of the name, each a name or a dictionary of name and version; or a
//	list of dictionaries of name and file.
//
// version
//
//	The version: a version, a pattern with a star, the word latest, or conditions separated by
//	commas such as >=1.2,<2.
//
// ignore_epoch
//
//	Compare versions without epochs. This is the default if the desired version has no epoch.
//
// allow_updates
//
//	Accept packages that are newer than the given version.
//
// refresh, cache_valid_time
//
//	Refresh the package lists first: True always, False never, by default once a run.
//	cache_valid_time is how many seconds the lists are valid.
//
// fromrepo, skip_verify, install_recommends, only_upgrade, setopt
//
//	Options for the package manager: the repository to use; do not verify signatures; whether to
//	install recommended packages; only upgrade installed packages; options of dnf.
//
// hold, update_holds
//
//	Hold the packages, or remove the hold; install packages even if they are held.
//
// reinstall, pkg_verify
//
//	Reinstall installed packages; do so only if their files were modified (a list of ignore_types
//	and verify_options selects the modifications to consider).
//
// skip_suggestions, resolve_capabilities, normalize
//
//	Do not search for similar names of missing packages; treat names as capabilities that packages
//	provide; strip the host's own architecture from names.
//
//	httpd:
//	  pkg.installed:
//	    - fromrepo: mycustomrepo
//	    - version: 2.2.15
//
//	mypkgs:
//	  pkg.installed:
//	    - pkgs:
//	      - foo
//	      - bar: ">=1.2.3-4"
func (m *module) installed(ctx context.Context, a installedArgs) (any, error) {
	if emptyList(a.Pkgs) {
		return change.Unchanged(a.Name, "No packages to install provided"), nil
	}
	if data.Truth(a.Name) && !data.Truth(a.Pkgs) && !data.Truth(a.Sources) {
		a.Pkgs, a.Version = singlePackage(a.Name, a.Version), nil
	}
	p := &plan{a: a, kwargs: words(ctx, a.Kwargs, "fromrepo", a.Fromrepo),
		refresh: packages.NeedsRefresh(m.env, a.Refresh)}
	var err error
	if p.a.Pkgs, p.refresh, err = m.capabilities(ctx, p.a.Pkgs, p.refresh, p.kwargs); err != nil {
		return nil, err
	}
	if _, isList := a.PkgVerify.([]any); (isList || a.PkgVerify == true) && !m.has("pkg.verify") {
		return change.Failed(a.Name, "pkg.verify not implemented"), nil
	}
	ret, err := m.find(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case ret != nil:
		return m.holdAsIs(ctx, p, ret)
	case len(p.unpurge) > 0 && !m.has("lowpkg.unpurge"):
		return with(change.Failed(a.Name, "lowpkg.unpurge not implemented"), p.warnings), nil
	case change.Test(ctx):
		return p.forecast()
	}
	return m.carryOut(ctx, p)
}

// forecast returns the result of test mode.
func (p *plan) forecast() (any, error) {
	var comments []string
	changes := &data.Map{}
	coming := func() any { return data.NewMap("new", "installed", "old", "") }
	if p.targets.Len() > 0 {
		for name := range p.targets.All() {
			changes.Set(name, coming())
		}
		comments = append(comments, "The following packages would be installed/updated: "+
			strings.Join(names(p.targets), ", "))
	}
	if len(p.unpurge) > 0 {
		for _, name := range p.unpurge {
			changes.Set(name, coming())
		}
		comments = append(comments, "The following packages would have their selection status changed from 'purge' to 'install': "+strings.Join(p.unpurge, ", "))
	}
	if p.reinstall.Len() > 0 && p.a.Reinstall {
		for _, name := range names(p.reinstall) {
			changes.Set(listed([]string{name}, p.reinstall, p.files()), coming())
		}
		comments = append(comments, "The following packages would be reinstalled: "+
			listed(names(p.reinstall), p.reinstall, p.files()))
	} else {
		for _, name := range names(p.reinstall) {
			text, err := nested(p.altered.Value(name))
			if err != nil {
				return nil, err
			}
			comments = append(comments, fmt.Sprintf("Package '%s' would be reinstalled because the following files have been altered:",
				listed([]string{name}, p.reinstall, p.files())), text)
			changes.Set(name, &data.Map{})
		}
	}
	return with(change.Would(p.a.Name, changes, strings.Join(comments, "\n")), p.warnings), nil
}

// ordered returns the rest of pkgs or sources: packages to install, and to reinstall.
func (p *plan) ordered() (pkgs, sources any) {
	if p.files() {
		all, _ := p.a.Sources.([]any)
		var left []any
		for _, some := range []*data.Map{p.targets, p.reinstall} {
			for _, e := range all {
				if one, ok := e.(*data.Map); ok && one.Len() > 0 {
					if name, _ := one.At(0); some.Has(name) || some.Has(p.packed(name)) {
						left = append(left, one)
					}
				}
			}
		}
		return nil, left
	}
	var left []any
	for _, some := range []*data.Map{p.targets, p.reinstall} {
		for name, version := range some.All() {
			left = append(left, data.NewMap(name, version))
		}
	}
	return left, nil
}

// packed returns the name of a source among the desired packages.
func (p *plan) packed(name any) any {
	bare, _, ok := strings.Cut(data.Str(name), ":")
	if ok && p.desired.Has(bare) {
		return bare
	}
	return name
}

// install calls the package manager and returns the changes by package. text is set instead if it
// returns a string: Salt appends it to the comment, and ignores results of other types.
func (m *module) install(ctx context.Context, p *plan) (changes *data.Map, text string, err error) {
	if p.targets.Len() == 0 && p.reinstall.Len() == 0 {
		return nil, "", nil
	}
	kwargs := p.kwargs.Clone()
	pkgs, sources := p.ordered()
	kwargs.Update(data.NewMap("name", nil, "refresh", p.refresh, "version", p.a.Version,
		"fromrepo", p.a.Fromrepo, "skip_verify", p.a.SkipVerify,
		"pkgs", pkgs, "sources", sources, "reinstall", p.reinstall.Len() > 0, "normalize",
		p.a.Normalize, "update_holds", p.a.UpdateHolds, "ignore_epoch", p.a.IgnoreEpoch,
		"split_arch", false))
	v, err := loader.CallAs[any](ctx, m.env, "pkg.install", nil, kwargs)
	changes, _ = v.(*data.Map)
	text, _ = v.(string)
	return changes, text, err
}

// A report collects the final result of pkg.installed.
type report struct {
	changes  *data.Map
	comments []string
	failed   bool
}

func (r *report) addComment(format string, args ...any) {
	r.comments = append(r.comments, fmt.Sprintf(format, args...))
}

// carryOut installs, holds and unpurges packages, and verifies the outcome.
func (m *module) carryOut(ctx context.Context, p *plan) (any, error) {
	r := &report{changes: &data.Map{}}
	installed, text, err := m.install(ctx, p)
	if err != nil {
		ret, err := failure(p.a.Name, "An error was encountered while installing package(s)", err)
		if one, ok := ret.(*data.Map); ok {
			with(one, p.warnings)
		}
		return ret, err
	}
	r.changes.Update(installed)
	if text != "" {
		r.comments = append(r.comments, text)
	}
	holds, ret, err := m.holds(ctx, p, r)
	if ret != nil || err != nil {
		return ret, err
	}
	if len(p.unpurge) > 0 {
		changed, err := calls.Unpurge(ctx, m.env, p.unpurge)
		if err != nil {
			return failure(p.a.Name, "An error was encountered while installing package(s)", err)
		}
		r.changes.Set("purge_desired", changed)
	}
	if err := m.judge(ctx, p, r, holds); err != nil {
		return nil, err
	}
	if err := m.judgeReinstalled(ctx, p, r, installed); err != nil {
		return nil, err
	}
	return with(change.New(p.a.Name, !r.failed, r.changes, strings.Join(r.comments, "\n")),
		p.warnings), nil
}

// judge reports the outcome for the packages and their holds.
func (m *module) judge(ctx context.Context, p *plan, r *report, h *holds) error {
	good, bad, err := m.outcome(ctx, p, r.changes)
	if err != nil {
		return err
	}
	var modified, same, failed []string
	for _, name := range good {
		if p.targets.Has(name) {
			modified = append(modified, name)
		} else if !p.reinstall.Has(name) {
			same = append(same, name)
		}
	}
	for _, name := range bad {
		if p.targets.Has(name) {
			failed = append(failed, name)
		}
	}
	r.modified(modified, listed(modified, p.desired, p.files()))
	h.reportModified(r)
	if len(same) > 0 && len(same) <= 20 {
		r.addComment("The following packages were already installed: %s",
			listed(same, p.desired, p.files()))
	} else if len(same) > 20 {
		r.addComment("%d targeted packages were already installed", len(same))
	}
	h.reportSame(r)
	if len(failed) > 0 {
		r.comments = slices.Insert(r.comments, 0,
			"The following packages failed to install/update: "+
				listed(failed, p.desired, p.files()))
		r.failed = true
	}
	h.reportFailed(r)
	return nil
}

func (r *report) modified(names []string, summary string) {
	switch {
	case len(names) == 0:
	case len(summary) < 20:
		r.addComment("The following packages were installed/updated: %s", summary)
	case len(names) == 1:
		r.addComment("1 targeted package was installed/updated.")
	default:
		r.addComment("%d targeted packages were installed/updated.", len(names))
	}
}

// outcome returns which of the desired packages are now as desired. For files it relies on the
// changes.
func (m *module) outcome(
	ctx context.Context, p *plan, changes *data.Map,
) (good, bad []string, err error) {
	if p.files() {
		for _, name := range names(p.desired) {
			switch {
			case p.targets.Has(name) && !changes.Has(name):
				bad = append(bad, name)
			case !p.reinstall.Has(name):
				good = append(good, name)
			}
		}
		return good, bad, nil
	}
	now, err := m.pkgs(ctx, p.kwargs)
	if err != nil {
		return nil, nil, err
	}
	provides := &data.Map{}
	if p.resolves(m) {
		if provides, err = calls.ListProvides(ctx, m.env, p.kwargs); err != nil {
			return nil, nil, err
		}
	}
	return m.present(ctx, p.desired, now, provides, p.rule())
}

// present splits packages into those that are installed as desired, and the others.
func (m *module) present(
	ctx context.Context, desired, now, provides *data.Map, r rule,
) (good, bad []string, err error) {
	for key, wanted := range desired.All() {
		name := data.Str(key)
		versions := texts(now.Value(name))
		if m.env.GrainsNow().Value("os_family") == "Debian" {
			bare, _, _ := strings.Cut(name, "=")
			versions = texts(now.Value(bare))
		} else if by := texts(provides.Value(name)); len(versions) == 0 && len(by) > 0 {
			versions = texts(now.Value(by[0]))
		}
		fine, err := m.isPresent(ctx, versions, wanted, r)
		switch {
		case err != nil:
			return nil, nil, err
		case fine:
			good = append(good, name)
		default:
			bad = append(bad, name)
		}
	}
	return good, bad, nil
}

func (m *module) isPresent(
	ctx context.Context, versions []string, wanted any, r rule,
) (bool, error) {
	if len(versions) == 0 || wanted == "latest" {
		return len(versions) > 0, nil
	}
	bare, err := calls.VersionClean(ctx, m.env, wanted)
	if err != nil || bare == "" {
		return err == nil, err
	}
	version := data.Str(wanted)
	if prefix, ok := strings.CutSuffix(version, "*"); ok && strings.HasPrefix(versions[0], prefix) {
		return true, nil
	}
	return m.fulfilled(ctx, versions, version, r)
}

// judgeReinstalled reports the outcome for reinstalled packages.
func (m *module) judgeReinstalled(
	ctx context.Context, p *plan, r *report, installed *data.Map,
) error {
	var good, bad []string
	for _, name := range names(p.reinstall) {
		fine := installed.Has(name)
		if !p.a.Reinstall {
			altered, err := m.verified(ctx, p, name)
			if err != nil {
				return err
			}
			if fine = altered.Len() == 0; !fine {
				p.altered.Set(name, altered)
			}
		}
		if fine {
			good = append(good, name)
		} else {
			bad = append(bad, name)
		}
	}
	r.failed = r.failed || len(bad) > 0
	for _, name := range good {
		if err := r.reinstalled(p, name, "Package %s was reinstalled.",
			" The following files were remediated:"); err != nil {
			return err
		}
	}
	for _, name := range bad {
		err := r.reinstalled(p, name, "Reinstall was not successful for package %s.",
			" The following files could not be remediated:")
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *report) reinstalled(p *plan, name, format, files string) error {
	text := fmt.Sprintf(format, listed([]string{name}, p.desired, p.files()))
	if !p.altered.Has(name) {
		r.comments = append(r.comments, text)
		return nil
	}
	shown, err := nested(p.altered.Value(name))
	r.comments = append(r.comments, text+files, shown)
	return err
}

// holdFunction returns the function to hold or unhold packages, if the state asks for it.
func (p *plan) holdFunction(m *module) (fun string, ok bool) {
	hold, ok := p.kwargs.Get("hold")
	if !ok || !m.has("pkg.hold") {
		return "", false
	}
	if data.Truth(hold) {
		return "pkg.hold", true
	}
	return "pkg.unhold", true
}

package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type latestArgs struct {
	Name       any
	Refresh    any       `default:"None"`
	Fromrepo   any       `default:"None"`
	SkipVerify bool      `default:"False"`
	Pkgs       any       `default:"None"`
	WatchFlags bool      `default:"True"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// latest installs packages or upgrades them to the newest version.
//
// pkgs
//
//	A list of packages instead of the name.
//
// refresh, cache_valid_time
//
//	Refresh the package lists first: True always, False never, by default once a run.
//	cache_valid_time is how many seconds the lists are valid.
//
// fromrepo, skip_verify, install_recommends, only_upgrade
//
//	Options for the package manager: the repository to use; do not verify signatures; whether to
//	install recommended packages; only upgrade installed packages.
//
//	mypkgs:
//	  pkg.latest:
//	    - pkgs:
//	      - foo
//	      - bar
func (m *module) latest(ctx context.Context, a latestArgs) (change.Result, error) {
	switch {
	case data.Truth(a.Kwargs.Value("sources")):
		return change.Refuse(a.Name, `The "sources" parameter is not supported.`)
	case emptyList(a.Pkgs):
		return change.Leave(a.Name, "No packages to install provided")
	}
	l := &newest{a: a, kwargs: words(ctx, a.Kwargs), targets: &data.Map{}}
	o := &order{silent: true}
	find := func(ctx context.Context) error {
		if err := m.findNewest(ctx, l); err != nil {
			return err
		}
		o.wanted, o.texts.Same, o.texts.Would = l.targets, l.allSame(), l.forecast()
		return nil
	}
	return o.run(ctx, a.Name, find, func(ctx context.Context) (err error) {
		kwargs := l.kwargs.Clone()
		kwargs.Update(data.NewMap("name", nil, "refresh", false, "fromrepo", a.Fromrepo,
			"skip_verify", a.SkipVerify, "pkgs", l.targets.Keys()))
		o.changes, err = calls.PkgInstall(ctx, m.env, kwargs)
		switch {
		case err != nil:
			return caughtOrRaised(err, "An error was encountered while installing package(s): ")
		case o.changes.Len() == 0:
			return change.Reason(l.nothing())
		}
		comment, good := l.report(o.changes)
		if !good {
			return change.Reason(comment)
		}
		o.texts.Done = comment
		return nil
	})
}

// caughtOrRaised adds a prefix to an error that Salt catches, and marks others to be raised.
func caughtOrRaised(err error, doing string) error {
	if !caught(err) {
		return change.Raise(err)
	}
	return change.Reason(doing + err.Error())
}

// newest is one call of pkg.latest.
type newest struct {
	a       latestArgs
	kwargs  *data.Map
	desired []string
	now     *data.Map // installed versions
	targets *data.Map // newest versions of the packages to upgrade
}

// same returns the up-to-date packages of a list, sorted.
func (l *newest) same() []string {
	if !data.Truth(l.a.Pkgs) {
		return nil
	}
	same := slices.DeleteFunc(slices.Clone(l.desired),
		func(name string) bool { return l.targets.Has(name) })
	slices.Sort(same)
	return same
}

func (l *newest) wanted() []string {
	all := names(l.targets)
	slices.Sort(all)
	return all
}

// findNewest determines which packages have a newer version. Its error is that of the state, or
// raised.
func (m *module) findNewest(ctx context.Context, l *newest) error {
	if err := m.wantNewest(ctx, l); err != nil {
		return err
	}
	pkgs, refresh, err := m.capabilities(ctx, data.Values(l.desired),
		packages.NeedsRefresh(m.env, l.a.Refresh), l.kwargs)
	if err != nil {
		return change.Raise(err)
	}
	l.desired = texts(pkgs)
	kwargs := l.kwargs.Clone()
	kwargs.Update(data.NewMap("fromrepo", l.a.Fromrepo, "refresh", refresh))
	available, err := calls.LatestVersion(ctx, m.env, l.desired, kwargs)
	if err != nil {
		return caughtOrRaised(err, "An error was encountered while checking the newest available version of package(s): ")
	}
	if l.now, err = calls.PkgVersion(ctx, m.env, l.desired, l.kwargs); err != nil {
		return caughtOrRaised(err, "")
	}
	var problems []string
	for _, name := range l.desired {
		if version := available.Value(name); data.Truth(version) {
			l.targets.Set(name, version)
		} else if !data.Truth(l.now.Value(name)) {
			problems = append(problems, "No information found for '"+name+"'.")
		}
	}
	if len(problems) > 0 {
		return change.Reason(strings.Join(problems, " "))
	}
	return nil
}

// wantNewest determines the packages of the state.
func (m *module) wantNewest(ctx context.Context, l *newest) error {
	if !data.Truth(l.a.Pkgs) {
		l.desired = []string{data.Str(l.a.Name)}
		return nil
	}
	all, err := m.repack(ctx, l.a.Pkgs, true)
	if err != nil {
		return change.Raise(err)
	}
	if l.desired = names(all); len(l.desired) == 0 {
		return change.Reason(`Invalidly formatted "pkgs" parameter. See minion log.`)
	}
	return nil
}

func (l *newest) allSame() string {
	switch n := len(l.desired); {
	case n > 10:
		return fmt.Sprintf("All %d packages are up-to-date.", n)
	case n > 1:
		all := slices.Clone(l.desired)
		slices.Sort(all)
		return "All packages are up-to-date (" + strings.Join(all, ", ") + ")."
	}
	return "Package " + l.desired[0] + " is already up-to-date"
}

func (l *newest) forecast() string {
	text := "The following packages would be installed/upgraded: " + strings.Join(l.wanted(), ", ")
	same := l.same()
	if len(same) > 10 {
		return text + fmt.Sprintf("\n%d packages are already up-to-date", len(same))
	}
	for i, name := range same {
		same[i] = name + " (" + data.Str(l.now.Value(name)) + ")"
	}
	if len(same) > 0 {
		text += "\nThe following packages are already up-to-date: " + strings.Join(same, ", ")
	}
	return text
}

// report returns the comment on the packages, and whether all succeeded.
func (l *newest) report(changes *data.Map) (string, bool) {
	var failed, done, comments []string
	for _, name := range l.wanted() {
		one, changed := changes.Value(name).(*data.Map)
		now := strings.Split(data.Str(one.Value("new")), ",")
		if wanted := data.Str(l.targets.Value(name)); changed &&
			(wanted == "latest" || slices.Contains(now, wanted)) {
			done = append(done, name)
		} else {
			failed = append(failed, name)
		}
	}
	for _, part := range []struct {
		names []string
		text  string
	}{
		{failed, "The following packages failed to update: "},
		{done, "The following packages were successfully installed/upgraded: "},
	} {
		if len(part.names) > 0 {
			comments = append(comments, part.text+strings.Join(part.names, ", "))
		}
	}
	if same := l.same(); len(same) > 10 {
		comments = append(comments, fmt.Sprintf("%d packages were already up-to-date ", len(same)))
	} else if len(same) > 0 {
		comments = append(comments, "The following packages were already up-to-date: "+
			strings.Join(same, ", "))
	}
	return strings.Join(comments, " "), len(failed) == 0
}

// nothing returns the comment that nothing has changed although it should have.
func (l *newest) nothing() string {
	text := ""
	switch n := l.targets.Len(); {
	case n > 10:
		text = fmt.Sprintf("%d targeted packages failed to update. See debug log for details.", n)
	case n > 1:
		text = "The following targeted packages failed to update. See debug log for details: (" +
			strings.Join(l.wanted(), ", ") + ")."
	default:
		text = "Package " + l.wanted()[0] + " failed to update."
	}
	if same := l.same(); len(same) > 10 {
		text += fmt.Sprintf("%d packages were already up-to-date", len(same))
	} else if len(same) > 0 {
		text += " The following packages were already up-to-date: " + strings.Join(same, ", ")
	}
	return text
}

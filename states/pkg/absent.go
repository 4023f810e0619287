package pkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type absentArgs struct {
	Name        any
	Version     any       `default:"None"`
	Pkgs        any       `default:"None"`
	Normalize   bool      `default:"True"`
	IgnoreEpoch any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// removed keeps packages from being installed. Their files of configuration stay.
//
// pkgs
//
//	In place of the name a list of packages, each a name or a dictionary of name and version.
//
// version
//
//	Remove the package only in this version: one, a pattern, or conditions with commas between.
//
// ignore_epoch, normalize
//
//	Compare versions without their epochs; take the architecture off names where it is the host's own.
//
//	telnetd:
//	  pkg.removed
func (m *module) removed(ctx context.Context, a absentArgs) (any, error) {
	return m.uninstall(ctx, "remove", a)
}

// purged keeps packages from being installed, and has nothing of them left, also where they were removed before.
//
// pkgs
//
//	In place of the name a list of packages, each a name or a dictionary of name and version.
//
// version
//
//	Purge the package only in this version: one, a pattern, or conditions with commas between.
//
// ignore_epoch, normalize
//
//	Compare versions without their epochs; take the architecture off names where it is the host's own.
//
//	telnetd:
//	  pkg.purged
func (m *module) purged(ctx context.Context, a absentArgs) (any, error) {
	return m.uninstall(ctx, "purge", a)
}

// uninstall brings a state about; action is remove or purge.
func (m *module) uninstall(ctx context.Context, action string, a absentArgs) (any, error) {
	ret, err := m.without(ctx, action, a)
	if err != nil {
		doing := map[string]string{"remove": "removing", "purge": "purging"}[action]
		return failure(a.Name, "An error was encountered while "+doing+" package(s)", err)
	}
	return ret, nil
}

func (m *module) without(ctx context.Context, action string, a absentArgs) (*data.Map, error) {
	kwargs := words(ctx, a.Kwargs)
	wanted, err := m.unwanted(ctx, a)
	if err != nil {
		return nil, err
	}
	targets, ret, err := m.removeTargets(ctx, a, wanted, kwargs)
	switch {
	case err != nil:
		return nil, err
	case ret != nil && (action == "remove" || ret.Value("result") == false):
		return ret, nil
	}
	if action == "purge" {
		more, err := m.leftOf(ctx, wanted, kwargs)
		if err != nil {
			return nil, err
		}
		targets = append(targets, more...)
	}
	slices.Sort(targets)
	if len(targets) == 0 {
		return change.Done(a.Name, "None of the targeted packages are installed or partially installed"), nil
	}
	if change.Test(ctx) {
		changes := &data.Map{}
		for _, name := range targets {
			changes.Set(name, data.NewMap("new", action+"d", "old", ""))
		}
		return change.Would(a.Name, changes, "The following packages will be "+action+"d: "+strings.Join(targets, ", ")+"."), nil
	}
	more := kwargs.Clone()
	more.Update(data.NewMap("pkgs", a.Pkgs, "version", a.Version, "split_arch", false))
	changes, err := m.dictionary(ctx, "pkg."+action, []any{a.Name}, more)
	if err != nil {
		return nil, err
	}
	return m.judgeRemoved(ctx, action, a, wanted, targets, changes, kwargs)
}

// unwanted returns the packages that are meant with their versions.
func (m *module) unwanted(ctx context.Context, a absentArgs) (*data.Map, error) {
	v, err := m.env.Call(ctx, "pkg_resource.parse_targets", []any{a.Name, a.Pkgs}, data.NewMap("normalize", a.Normalize))
	if err != nil {
		return nil, err
	}
	pair, _ := v.(data.Tuple)
	if len(pair) == 0 {
		return nil, loader.Execution("Unable to tell which packages are meant: %s", data.Str(v))
	}
	wanted, _ := pair[0].(*data.Map)
	return wanted, nil
}

// removeTargets returns the packages that are there in a version that is not wanted. A result that is not nil says that there are none,
// or why that cannot be told.
func (m *module) removeTargets(ctx context.Context, a absentArgs, wanted, kwargs *data.Map) ([]string, *data.Map, error) {
	if wanted.Len() == 0 {
		return nil, change.Failed(a.Name, "Invalidly formatted pkgs parameter. See minion log."), nil
	}
	now, err := m.pkgs(ctx, kwargs)
	if err != nil {
		return nil, nil, err
	}
	var targets []string
	versions := false
	for key, version := range wanted.All() {
		if !data.Truth(a.Pkgs) {
			version = a.Version
		}
		name := data.Str(key)
		there := texts(now.Value(name))
		if len(there) == 0 {
			continue
		}
		bare, err := m.clean(ctx, version)
		if err != nil {
			return nil, nil, err
		}
		meant := bare == ""
		if !meant {
			versions = true
			if meant, err = m.fulfilled(ctx, there, data.Str(version), rule{ignoreEpoch: a.IgnoreEpoch}); err != nil {
				return nil, nil, err
			}
		}
		if meant {
			targets = append(targets, name)
		}
	}
	if len(targets) > 0 {
		return targets, nil, nil
	}
	text := "All specified packages are already absent"
	if versions {
		text = "All specified packages (matching specified versions) are already absent"
	}
	return nil, change.Done(a.Name, text), nil
}

// leftOf returns those of the packages that were removed and not purged.
func (m *module) leftOf(ctx context.Context, wanted, kwargs *data.Map) ([]string, error) {
	removed, err := m.pkgs(ctx, kwargs, "removed", true)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, name := range names(wanted) {
		if removed.Has(name) {
			left = append(left, name)
		}
	}
	return left, nil
}

// judgeRemoved says what became of the packages.
func (m *module) judgeRemoved(ctx context.Context, action string, a absentArgs, wanted *data.Map, targets []string, changes, kwargs *data.Map) (*data.Map, error) {
	failed, err := m.remaining(ctx, wanted, targets, kwargs)
	if err != nil {
		return nil, err
	}
	if action == "purge" {
		left, err := m.leftOf(ctx, wanted, kwargs)
		if err != nil {
			return nil, err
		}
		failed = append(failed, left...)
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return change.New(a.Name, false, changes, "The following packages failed to "+action+": "+strings.Join(failed, ", ")+"."), nil
	}
	var absent []string
	for _, name := range names(wanted) {
		if !slices.Contains(targets, name) {
			absent = append(absent, name)
		}
	}
	if len(absent) == 0 {
		return change.New(a.Name, true, changes, "All targeted packages were "+action+"d."), nil
	}
	slices.Sort(absent)
	return change.New(a.Name, true, changes, "The following packages were not installed: "+strings.Join(absent, ", ")+
		" The following packages were "+action+"d: "+strings.Join(targets, ", ")+"."), nil
}

// remaining returns those of the packages that were to go and are still there; with its version where several may be.
func (m *module) remaining(ctx context.Context, wanted *data.Map, targets []string, kwargs *data.Map) ([]string, error) {
	now, err := m.pkgs(ctx, kwargs)
	if err != nil {
		return nil, err
	}
	family := m.env.GrainsNow().Value("os_family")
	several := family == "Suse" || family == "RedHat"
	var failed []string
	for key, version := range wanted.All() {
		name := data.Str(key)
		switch there := texts(now.Value(name)); {
		case len(there) == 0 || !slices.Contains(targets, name):
		case several && data.Truth(version) && slices.Contains(there, data.Str(version)):
			failed = append(failed, name+"-"+data.Str(version))
		case !several || !data.Truth(version):
			failed = append(failed, name)
		}
	}
	return failed, nil
}

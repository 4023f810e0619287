package pkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
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

// removed uninstalls packages. Their configuration files are kept.
//
// pkgs
//
//	A list of packages instead of the name. Each is a name or a dictionary of name and version.
//
// version
//
//	Remove the package only in this version: a version, a pattern, or conditions separated by
//	commas.
//
// ignore_epoch, normalize
//
//	Compare versions without epochs; strip the host's own architecture from names.
//
//	telnetd:
//	  pkg.removed
func (m *module) removed(ctx context.Context, a absentArgs) (change.Result, error) {
	return m.uninstall(ctx, "remove", a)
}

// purged uninstalls packages with their configuration files, also if they were already removed.
//
// pkgs
//
//	A list of packages instead of the name. Each is a name or a dictionary of name and version.
//
// version
//
//	Purge the package only in this version: a version, a pattern, or conditions separated by
//	commas.
//
// ignore_epoch, normalize
//
//	Compare versions without epochs; strip the host's own architecture from names.
//
//	telnetd:
//	  pkg.purged
func (m *module) purged(ctx context.Context, a absentArgs) (change.Result, error) {
	return m.uninstall(ctx, "purge", a)
}

// A removal is one call of removed or purged.
type removal struct {
	order
	*module
	absentArgs
	action  string    // remove or purge
	doing   string    // prefix of error messages
	kwargs  *data.Map // arguments for the package manager
	meant   *data.Map // packages to remove, with versions
	targets []string  // those of them that are installed
}

// uninstall runs the state. action is remove or purge.
func (m *module) uninstall(
	ctx context.Context, action string, a absentArgs,
) (change.Result, error) {
	r := &removal{module: m, absentArgs: a, action: action, kwargs: words(ctx, a.Kwargs)}
	doing := map[string]string{"remove": "removing", "purge": "purging"}[action]
	r.doing = "An error was encountered while " + doing + " package(s)"
	return r.run(ctx, a.Name, r.find, r.remove)
}

// find finds the packages to remove.
func (r *removal) find(ctx context.Context) (err error) {
	if r.meant, err = r.unwanted(ctx, r.absentArgs); err != nil {
		return r.failure(r.doing, err)
	}
	if r.meant.Len() == 0 {
		return change.Reason("Invalidly formatted pkgs parameter. See minion log.")
	}
	if err := r.removeTargets(ctx); err != nil {
		return r.failure(r.doing, err)
	}
	if r.action == "purge" {
		more, err := r.leftOf(ctx, r.meant, r.kwargs)
		if err != nil {
			return r.failure(r.doing, err)
		}
		r.targets = append(r.targets, more...)
		r.texts.Same = "None of the targeted packages are installed or partially installed"
	}
	slices.Sort(r.targets)
	r.wanted = &data.Map{}
	for _, name := range r.targets {
		r.wanted.Set(name, data.NewMap("new", r.action+"d", "old", ""))
	}
	r.texts.Would = "The following packages will be " + r.action + "d: " +
		strings.Join(r.targets, ", ") + "."
	return nil
}

// remove removes the packages, and checks what is left.
func (r *removal) remove(ctx context.Context) (err error) {
	more := r.kwargs.Clone()
	more.Update(data.NewMap("pkgs", r.Pkgs, "version", r.Version, "split_arch", false))
	act := calls.PkgRemove
	if r.action == "purge" {
		act = calls.PkgPurge
	}
	if r.changes, err = act(ctx, r.env, r.Name, more); err != nil {
		return r.failure(r.doing, err)
	}
	failed, err := r.remaining(ctx, r.meant, r.targets, r.kwargs)
	if err == nil && r.action == "purge" {
		var left []string
		left, err = r.leftOf(ctx, r.meant, r.kwargs)
		failed = append(failed, left...)
	}
	switch {
	case err != nil:
		return r.failure(r.doing, err)
	case len(failed) > 0:
		slices.Sort(failed)
		return change.Reason("The following packages failed to " + r.action + ": " +
			strings.Join(failed, ", ") + ".")
	}
	r.texts.Done = r.gone()
	return nil
}

// gone returns the comment that the packages are gone.
func (r *removal) gone() string {
	absent := slices.DeleteFunc(names(r.meant), func(name string) bool {
		return slices.Contains(r.targets, name)
	})
	if len(absent) == 0 {
		return "All targeted packages were " + r.action + "d."
	}
	slices.Sort(absent)
	return "The following packages were not installed: " + strings.Join(absent, ", ") +
		" The following packages were " + r.action + "d: " + strings.Join(r.targets, ", ") + "."
}

// unwanted returns the packages to remove, with their versions.
func (m *module) unwanted(ctx context.Context, a absentArgs) (*data.Map, error) {
	wanted, err := calls.ParseTargets(ctx, m.env, calls.Wanted{
		Name: a.Name, Pkgs: a.Pkgs, More: data.NewMap("normalize", a.Normalize),
	})
	return wanted.Packages, err
}

// removeTargets finds the packages that are installed in an unwanted version.
func (r *removal) removeTargets(ctx context.Context) error {
	now, err := r.pkgs(ctx, r.kwargs)
	if err != nil {
		return err
	}
	r.texts.Same = "All specified packages are already absent"
	for key, version := range r.meant.All() {
		if !data.Truth(r.Pkgs) {
			version = r.Version
		}
		name := data.Str(key)
		there := texts(now.Value(name))
		if len(there) == 0 {
			continue
		}
		bare, err := calls.VersionClean(ctx, r.env, version)
		if err != nil {
			return err
		}
		meant := bare == ""
		if !meant {
			r.texts.Same = "All specified packages (matching specified versions) are already absent"
			if meant, err = r.fulfilled(ctx, there, data.Str(version),
				rule{ignoreEpoch: r.IgnoreEpoch}); err != nil {
				return err
			}
		}
		if meant {
			r.targets = append(r.targets, name)
		}
	}
	return nil
}

// leftOf returns the packages that were removed but not purged.
func (m *module) leftOf(ctx context.Context, wanted, kwargs *data.Map) ([]string, error) {
	removed, err := calls.ListPkgs(ctx, m.env, calls.PkgList{
		AsLists: true, Removed: true, More: kwargs,
	})
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

// remaining returns the packages that should have been removed but are still installed, with the
// version if several may be.
func (m *module) remaining(
	ctx context.Context, wanted *data.Map, targets []string, kwargs *data.Map,
) ([]string, error) {
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

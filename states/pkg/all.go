package pkg

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type uptodateArgs struct {
	Name    any
	Refresh any       `default:"False"`
	Pkgs    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// uptodate upgrades all packages to their newest versions.
//
// refresh
//
//	True: refresh the package lists first.
//
// pkgs
//
//	Upgrade only these packages.
//
// dist_upgrade, fromrepo, cache_valid_time, resolve_capabilities
//
//	Options for the package manager: install and remove packages if necessary; the repository to
//	use; how many seconds the package lists are valid; treat names as capabilities that packages
//	provide.
//
//	everything:
//	  pkg.uptodate:
//	    - refresh: True
func (m *module) uptodate(ctx context.Context, a uptodateArgs) (change.Result, error) {
	refresh, isBool := a.Refresh.(bool)
	switch {
	case !m.has("pkg.list_upgrades"):
		return change.Refuse(a.Name, "State pkg.uptodate is not available")
	case !isBool:
		return change.Refuse(a.Name, "refresh must be either True or False")
	}
	kwargs := words(ctx, a.Kwargs)
	kwargs.Delete("saltenv")
	o := &order{texts: change.Texts{
		Same:  "System is already up-to-date",
		Would: "System update will be performed",
		Done:  "Upgrade ran successfully",
	}}
	find := func(ctx context.Context) (err error) {
		if a.Pkgs, refresh, err = m.capabilities(ctx, a.Pkgs, refresh, kwargs); err == nil {
			o.wanted, err = m.upgrades(ctx, a.Pkgs, refresh, kwargs)
		}
		return err
	}
	return o.run(ctx, a.Name, find, func(ctx context.Context) (err error) {
		all := kwargs.Clone()
		all.Update(data.NewMap("refresh", refresh, "pkgs", a.Pkgs))
		if o.changes, err = calls.PkgUpgrade(ctx, m.env, all); err != nil {
			return o.failure("An error was encountered while updating packages", err)
		}
		var missing []string
		for _, name := range names(o.wanted) {
			if isList(a.Pkgs) && !o.changes.Has(name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return change.Reason("The following package(s) failed to update: " +
				strings.Join(missing, ", "))
		}
		return nil
	})
}

// upgrades returns the packages in a list, or all, that can be upgraded, with their old and new
// versions.
func (m *module) upgrades(
	ctx context.Context, pkgs any, refresh bool, kwargs *data.Map,
) (*data.Map, error) {
	all := kwargs.Clone()
	all.Set("refresh", refresh)
	if m.env.GrainsNow().Value("os_family") == "Debian" && !all.Has("dist_upgrade") {
		all.Set("dist_upgrade", false)
	}
	found, err := calls.ListUpgrades(ctx, m.env, all)
	if err != nil {
		return nil, err
	}
	wanted, isList := pkgs.([]any)
	chosen := &data.Map{}
	for _, name := range texts(wanted) {
		if found.Has(name) {
			chosen.Set(name, found.Value(name))
		}
	}
	if !isList {
		chosen = found
	}
	if chosen.Len() == 0 {
		return chosen, nil
	}
	now, err := calls.PkgVersion(ctx, m.env, names(chosen), kwargs)
	expected := &data.Map{}
	for name, version := range chosen.All() {
		expected.Set(name, data.NewMap("new", version, "old", now.Value(name)))
	}
	return expected, err
}

type groupArgs struct {
	Name    any
	Skip    any       `default:"None"`
	Include any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// groupInstalled installs a group of packages, if the package manager supports groups.
//
// skip
//
//	Packages that the group installs by default, but that are not required.
//
// include
//
//	Optional packages of the group to install as well.
//
//	Load Balancer:
//	  pkg.group_installed:
//	    - skip:
//	      - piranha
func (m *module) groupInstalled(ctx context.Context, a groupArgs) (change.Result, error) {
	switch {
	case !m.has("pkg.group_diff"):
		return change.Refuse(a.Name, "pkg.group_install not available for this platform")
	case a.Skip != nil && !isList(a.Skip):
		return change.Refuse(a.Name, "skip must be formatted as a list")
	case a.Include != nil && !isList(a.Include):
		return change.Refuse(a.Name, "include must be formatted as a list")
	}
	group := "roup '" + data.Str(a.Name) + "'"
	o := &order{silent: true, texts: change.Texts{
		Same:  "G" + group + " is already installed",
		Would: "G" + group + " will be installed",
		Done:  "G" + group + " was installed",
	}}
	var targets []string
	find := func(ctx context.Context) error {
		diff, err := calls.GroupDiff(ctx, m.env, a.Name)
		switch {
		case err != nil && !caught(err):
			return change.Raise(err)
		case err != nil:
			return change.Reason("An error was encountered while installing/updating g" +
				group + ": " +
				err.Error() + ".")
		}
		var wrong []string
		if targets, wrong = groupTargets(diff, texts(a.Skip), texts(a.Include)); len(wrong) > 0 {
			return change.Reason("The following mandatory packages cannot be skipped: " +
				strings.Join(wrong, ", "))
		}
		if len(targets) > 0 {
			o.wanted = data.NewMap("group", a.Name)
		}
		if partly(diff) {
			o.texts.Would = "G" + group + " is partially installed and will be updated"
			o.texts.Done = "G" + group + " was updated"
		}
		return nil
	}
	return o.run(ctx, a.Name, find, func(ctx context.Context) error {
		return m.installGroup(ctx, a, o, targets)
	})
}

// partly reports whether a part of a group is installed.
func partly(diff calls.GroupMembers) bool {
	return len(diff["mandatory"].Installed)+len(diff["default"].Installed)+len(diff["optional"].Installed) > 0
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// groupTargets returns the packages of a group to install, and the mandatory ones that cannot be
// skipped.
func groupTargets(diff calls.GroupMembers, skip, include []string) (targets, wrong []string) {
	skipped := &data.Map{}
	for _, name := range skip {
		skipped.Set(name, true)
	}
	for _, name := range slices.Concat(diff["mandatory"].Installed, diff["mandatory"].Missing) {
		if skipped.Has(name) {
			wrong = append(wrong, name)
		}
	}
	there := &data.Map{}
	for _, kind := range []string{"mandatory", "default", "optional", "conditional"} {
		for _, name := range diff[kind].Installed {
			there.Set(name, true)
		}
	}
	targets = slices.Clone(diff["mandatory"].Missing)
	for _, name := range diff["default"].Missing {
		if !skipped.Has(name) {
			targets = append(targets, name)
		}
	}
	for _, name := range include {
		if !there.Has(name) {
			targets = append(targets, name)
		}
	}
	return targets, wrong
}

func (m *module) installGroup(
	ctx context.Context, a groupArgs, o *order, targets []string,
) (err error) {
	kwargs := words(ctx, a.Kwargs, "pkgs", data.Values(targets))
	kwargs.Delete("saltenv")
	if o.changes, err = calls.PkgInstall(ctx, m.env, kwargs); err != nil {
		return o.failure("An error was encountered while installing/updating group '"+
			data.Str(a.Name)+"'", err)
	}
	now, err := calls.ListPkgs(ctx, m.env, calls.PkgList{More: packages.Own(a.Kwargs)})
	if err != nil {
		return change.Raise(err)
	}
	var failed []string
	for _, name := range targets {
		if !now.Has(name) {
			failed = append(failed, name)
		}
	}
	if len(failed) > 0 {
		return change.Reason("Failed to install the following packages: " +
			strings.Join(failed, ", "))
	}
	return nil
}

type watchArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch runs installed, latest, removed or purged again when a watched state changed something.
//
//	vim:
//	  pkg.installed:
//	    - watch:
//	      - file: /etc/apt/sources.list.d/vim.list
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	sfun := packages.Take(kwargs, "sfun", nil)
	switch sfun {
	case "purged", "latest", "removed", "installed":
		kwargs.Set("name", a.Name)
		return m.rerun(ctx, data.Str(sfun), kwargs)
	}
	return change.Failed(a.Name, "pkg."+data.Str(sfun)+
		" does not work with the watch requisite"), nil
}

// rerun calls a function of the state.
func (m *module) rerun(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
	var f loader.Func
	switch fun {
	case "purged":
		f = loader.F(fun, m.purged)
	case "removed":
		f = loader.F(fun, m.removed)
	case "latest":
		f = loader.F(fun, m.latest)
	default:
		f = loader.F(fun, m.installed)
	}
	b, err := f.Spec().Bind(nil, kwargs)
	if err != nil {
		return nil, err
	}
	return f.Call(ctx, b)
}

// modBeacon adds a beacon that watches packages, for installed and removed with the argument
// beacon.
//
//	vim:
//	  pkg.installed:
//	    - beacon: True
func (m *module) modBeacon(ctx context.Context, a watchArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	sfun := packages.Take(kwargs, "sfun", nil)
	switch {
	case sfun != "installed" && sfun != "removed":
		return change.Failed(a.Name, "pkg."+data.Str(sfun)+
			" does not work with the mod_beacon state function"), nil
	case !data.Truth(kwargs.Value("beacon")):
		return change.Unchanged(a.Name, "Not adding beacon."), nil
	}
	pkgs, ok := kwargs.Get("pkgs")
	if !ok {
		pkgs = []any{a.Name}
	}
	return m.env.Registry("states").Invoke(ctx, "beacon.present", nil,
		data.NewMap("name", "beacon_pkg_"+data.Str(a.Name), "pkgs", pkgs, "interval", 60,
			"beacon_module", "pkg"))
}

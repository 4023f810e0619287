package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type uptodateArgs struct {
	Name    any
	Refresh any       `default:"False"`
	Pkgs    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// uptodate keeps all packages in their newest versions.
//
// refresh
//
//	True: refresh the lists of packages first.
//
// pkgs
//
//	Only these packages.
//
// dist_upgrade, fromrepo, cache_valid_time, resolve_capabilities
//
//	Options of the package manager: install and remove packages where that is needed; where packages come from; how many seconds the
//	lists stay fresh; take names for what packages provide.
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
	return o.give(ctx, a.Name, find, func(ctx context.Context) (err error) {
		all := kwargs.Clone()
		all.Update(data.NewMap("refresh", refresh, "pkgs", a.Pkgs))
		if o.changes, err = m.dictionary(ctx, "pkg.upgrade", nil, all); err != nil {
			return o.failure("An error was encountered while updating packages", err)
		}
		var missing []string
		for _, name := range names(o.wanted) {
			if isList(a.Pkgs) && !o.changes.Has(name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return change.Reason("The following package(s) failed to update: " + strings.Join(missing, ", "))
		}
		return nil
	})
}

// upgrades returns the packages of a list, or all, that can be upgraded, with their old and new versions.
func (m *module) upgrades(ctx context.Context, pkgs any, refresh bool, kwargs *data.Map) (*data.Map, error) {
	all := kwargs.Clone()
	all.Set("refresh", refresh)
	if m.env.GrainsNow().Value("os_family") == "Debian" && !all.Has("dist_upgrade") {
		all.Set("dist_upgrade", false)
	}
	found, err := m.dictionary(ctx, "pkg.list_upgrades", nil, all)
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
	now, err := m.named(ctx, "pkg.version", names(chosen), kwargs)
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

// groupInstalled keeps a group of packages installed, where the package manager knows of such.
//
// skip
//
//	Packages that the group installs by default, but that need not be there.
//
// include
//
//	Packages of the group that are only installed on demand.
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
		diff, err := m.dictionary(ctx, "pkg.group_diff", []any{a.Name}, nil)
		switch {
		case err != nil && !caught(err):
			return change.Raise(err)
		case err != nil:
			return change.Reason("An error was encountered while installing/updating g" + group + ": " +
				err.Error() + ".")
		}
		var wrong []string
		if targets, wrong = groupTargets(diff, texts(a.Skip), texts(a.Include)); len(wrong) > 0 {
			return change.Reason("The following mandatory packages cannot be skipped: " + strings.Join(wrong, ", "))
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
	return o.give(ctx, a.Name, find, func(ctx context.Context) error {
		return m.installGroup(ctx, a, o, targets)
	})
}

// partly reports whether some of a group is installed.
func partly(diff *data.Map) bool {
	return len(members(diff, "mandatory", "installed"))+len(members(diff, "default", "installed"))+
		len(members(diff, "optional", "installed")) > 0
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// members returns the packages of a group of one kind, installed or not installed.
func members(diff *data.Map, kind, state string) []string {
	all, _ := diff.Value(kind).(*data.Map)
	return texts(all.Value(state))
}

// groupTargets returns the packages of a group that are to be installed, and mandatory ones that are to be skipped.
func groupTargets(diff *data.Map, skip, include []string) (targets, wrong []string) {
	skipped := &data.Map{}
	for _, name := range skip {
		skipped.Set(name, true)
	}
	for _, state := range []string{"installed", "not installed"} {
		for _, name := range members(diff, "mandatory", state) {
			if skipped.Has(name) {
				wrong = append(wrong, name)
			}
		}
	}
	there := &data.Map{}
	for _, kind := range []string{"mandatory", "default", "optional", "conditional"} {
		for _, name := range members(diff, kind, "installed") {
			there.Set(name, true)
		}
	}
	targets = members(diff, "mandatory", "not installed")
	for _, name := range members(diff, "default", "not installed") {
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
	if o.changes, err = m.dictionary(ctx, "pkg.install", nil, kwargs); err != nil {
		return o.failure("An error was encountered while installing/updating group '"+data.Str(a.Name)+"'", err)
	}
	now, err := m.pkgs(ctx, packages.Own(a.Kwargs))
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
		return change.Reason("Failed to install the following packages: " + strings.Join(failed, ", "))
	}
	return nil
}

type watchArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch runs installed, latest, removed or purged again where something changed that a chunk with one of these watches.
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
		return m.again(ctx, data.Str(sfun), kwargs)
	}
	return change.Failed(a.Name, "pkg."+data.Str(sfun)+" does not work with the watch requisite"), nil
}

// again calls a function of the state.
func (m *module) again(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
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

// modBeacon adds a beacon that watches packages, where a chunk of installed or removed asks for one.
//
//	vim:
//	  pkg.installed:
//	    - beacon: True
func (m *module) modBeacon(ctx context.Context, a watchArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	sfun := packages.Take(kwargs, "sfun", nil)
	switch {
	case sfun != "installed" && sfun != "removed":
		return change.Failed(a.Name, "pkg."+data.Str(sfun)+" does not work with the mod_beacon state function"), nil
	case !data.Truth(kwargs.Value("beacon")):
		return change.Done(a.Name, "Not adding beacon."), nil
	}
	pkgs, ok := kwargs.Get("pkgs")
	if !ok {
		pkgs = []any{a.Name}
	}
	return m.env.Shelf("states").Invoke(ctx, "beacon.present", nil,
		data.NewMap("name", "beacon_pkg_"+data.Str(a.Name), "pkgs", pkgs, "interval", 60, "beacon_module", "pkg"))
}

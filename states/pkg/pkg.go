// Package pkg is Salt's state pkg: packages of the host's package manager are installed, newest, held, downloaded or absent
// (salt/states/pkg.py). The work is that of the module pkg.
//
// What differs from Salt. Packages that are joined to one call (aggregate) include those of the state that runs, each once; those
// under onlyif, unless, creates or a requisite that may keep a state from running are not joined, nor are two versions of one package.
// held and unheld are None in test mode where they would change something, and their changes are those that were made. uptodate looks for what it upgrades: on
// Debian packages that only dist_upgrade would bring count where that is set. latest takes one version of several as the newest.
// pkg_verify with a version installs that where another one is there, and verifies the files where it is there.
// FreeBSD, OpenBSD, Gentoo, macOS and Windows have no ways of their own here.
package pkg

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pkg. There is one where there is a module pkg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !m.has("pkg.install") {
		return nil, errors.New("pkg module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("downloaded", m.downloaded),
		loader.F("group_installed", m.groupInstalled),
		loader.F("held", m.held),
		loader.F("installed", m.installed),
		loader.F("latest", m.latest),
		loader.F("mod_aggregate", m.modAggregate),
		loader.F("mod_beacon", m.modBeacon),
		loader.F("mod_init", m.modInit),
		loader.F("mod_watch", m.modWatch),
		loader.F("patch_downloaded", m.patchDownloaded),
		loader.F("patch_installed", m.patchInstalled),
		loader.F("purged", m.purged),
		loader.F("removed", m.removed),
		loader.F("unheld", m.unheld),
		loader.F("uptodate", m.uptodate),
	}}, nil
}

func (m *module) has(fun string) bool { return m.env.Functions.Has(fun) }

// words returns the arguments of a state that it does not know itself, for the functions that it calls, and further ones.
func words(ctx context.Context, kwargs *data.Map, more ...any) *data.Map {
	all := packages.Own(kwargs)
	all.Set("saltenv", change.CallOf(ctx).SaltEnv)
	all.Update(data.NewMap(more...))
	return all
}

// caught reports whether Salt's state would catch an error: a CommandExecutionError.
func caught(err error) bool { return loader.KindOf(err) == loader.KindExecution }

// failure returns the result of a state whose function failed with err, or the error where it is none that is told of. what says what
// was being done.
func failure(name any, what string, err error) (any, error) {
	if !caught(err) {
		return nil, err
	}
	if changes, text, ok := loader.Changed(err); ok {
		return change.New(name, false, changes, text), nil
	}
	return change.Failed(name, what+": "+err.Error()), nil
}

// dictionary calls a function that returns one.
func (m *module) dictionary(ctx context.Context, fun string, args []any, kwargs *data.Map) (*data.Map, error) {
	v, err := m.env.Call(ctx, fun, args, kwargs)
	if err != nil {
		return nil, err
	}
	if all, ok := v.(*data.Map); ok {
		return all, nil
	}
	if v == nil {
		return &data.Map{}, nil
	}
	return nil, loader.Execution("%s returned no dictionary: %s", fun, data.Str(v))
}

// pkgs returns the installed packages with lists of their versions.
func (m *module) pkgs(ctx context.Context, kwargs *data.Map, more ...any) (*data.Map, error) {
	all := kwargs.Clone()
	all.Update(data.NewMap("versions_as_list", true))
	all.Update(data.NewMap(more...))
	return m.dictionary(ctx, "pkg.list_pkgs", nil, all)
}

// normal returns the name of a package as the package manager has it.
func (m *module) normal(ctx context.Context, name string, normalize bool) (string, error) {
	if !normalize || !m.has("pkg.normalize_name") {
		return name, nil
	}
	v, err := m.env.Call(ctx, "pkg.normalize_name", []any{name}, nil)
	return data.Str(v), err
}

// repack returns a list of packages as a dictionary of names and versions, nil for any. An empty one is no good list.
func (m *module) repack(ctx context.Context, pkgs any, normalize bool) (*data.Map, error) {
	all, wrong := packages.Repack(pkgs)
	if wrong != "" {
		m.env.Log.Error(wrong)
		return &data.Map{}, nil
	}
	packed := &data.Map{}
	for name, version := range all.All() {
		normal, err := m.normal(ctx, data.Str(name), normalize)
		if err != nil {
			return nil, err
		}
		if version != nil {
			version = data.Str(version)
		}
		packed.Set(normal, version)
	}
	if list, ok := pkgs.([]any); ok && len(list) != packed.Len() {
		return nil, loader.Invocation("You are passing a list of packages that contains "+
			"duplicated packages names: %s. This cannot be processed. In case you are targeting "+
			"different versions of the same package, please target them individually", data.Repr(pkgs))
	}
	return packed, nil
}

// emptyList reports whether an argument is a list without elements.
func emptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

// alone returns a name, with a version if there is one, as a list of packages.
func alone(name, version any) []any {
	if data.Truth(version) {
		return []any{data.NewMap(name, version)}
	}
	return []any{name}
}

// capabilities returns a list of packages with those that are only names for what others provide replaced by these, where the package
// manager can tell, and whether the lists of packages are still to be refreshed.
func (m *module) capabilities(ctx context.Context, pkgs any, refresh bool, kwargs *data.Map) (any, bool, error) {
	if !data.Truth(pkgs) || !m.has("pkg.resolve_capabilities") {
		return pkgs, refresh, nil
	}
	all := kwargs.Clone()
	all.Set("refresh", refresh)
	v, err := m.env.Call(ctx, "pkg.resolve_capabilities", []any{pkgs}, all)
	return v, false, err
}

// clean returns a version without what the package manager adds to it; "" where nothing is left.
func (m *module) clean(ctx context.Context, version any) (string, error) {
	v, err := m.env.Call(ctx, "pkg_resource.version_clean", []any{version}, nil)
	if err != nil || !data.Truth(v) {
		return "", err
	}
	return data.Str(v), nil
}

// nested returns a value as the outputter of that name prints it.
func nested(v any) (string, error) {
	o, err := output.New("nested", output.Options{Indent: output.NoIndent{}})
	if err != nil {
		return "", err
	}
	text, err := o.Format(v)
	return strings.TrimRight(text, " \t\n"), err
}

func names(all *data.Map) []string { return data.Texts(all.Keys()) }

func texts(v any) []string {
	list, _ := v.([]any)
	return data.Texts(list)
}

// with returns a result with warnings.
func with(ret *data.Map, warnings []string) *data.Map {
	if len(warnings) > 0 {
		ret.Set("warnings", data.Values(warnings))
	}
	return ret
}

// desiredText returns a package with the version that is wanted of it.
func desiredText(name string, desired *data.Map) string {
	version := data.Str(desired.Value(name))
	switch {
	case !data.Truth(desired.Value(name)):
		return name
	case strings.HasPrefix(version, "<") || strings.HasPrefix(version, ">") || strings.HasPrefix(version, "="):
		return name + version
	}
	return name + "=" + version
}

// listed joins packages by commas, with the versions that are wanted of them unless they come from files.
func listed(pkgs []string, desired *data.Map, files bool) string {
	out := make([]string, len(pkgs))
	for i, name := range pkgs {
		if out[i] = name; !files {
			out[i] = desiredText(name, desired)
		}
	}
	return strings.Join(out, ", ")
}

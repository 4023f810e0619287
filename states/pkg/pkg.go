// Package pkg is Salt's state pkg: installs, upgrades, holds, downloads and removes packages with
// the host's package manager (salt/states/pkg.py). It uses the module pkg.
//
// Differences from Salt: packages that are joined to one call (aggregate) include those of the
// state that runs, without duplicates. Packages of states with onlyif, unless, creates or a
// requisite that may prevent the state from running are not joined, nor are two versions of one
// package. In test mode, the result of held and unheld is None if they would change something, and
// their changes are those that were made. uptodate lists what it upgrades: on Debian this includes
// packages that need dist_upgrade if that is set. latest uses the newest of several versions.
// pkg_verify with a version installs that version if another one is installed, and verifies the
// files if it is installed. FreeBSD, OpenBSD, Gentoo, macOS and Windows have no special treatment.
package pkg

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pkg. It loads only if a module pkg does.
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

// words returns the state's unknown arguments, which are passed on to functions, and further ones.
func words(ctx context.Context, kwargs *data.Map, more ...any) *data.Map {
	all := packages.Own(kwargs)
	all.Set("saltenv", change.CallOf(ctx).SaltEnv)
	all.Update(data.NewMap(more...))
	return all
}

// caught reports whether Salt's state would catch an error: a CommandExecutionError.
func caught(err error) bool { return loader.KindOf(err) == loader.KindExecution }

// failure returns the failed result for an error of a function, or the error itself if Salt does
// not catch it. what describes the action that failed.
func failure(name any, what string, err error) (any, error) {
	if !caught(err) {
		return nil, err
	}
	if changes, text, ok := loader.Changed(err); ok {
		return change.New(name, false, changes, text), nil
	}
	return change.Failed(name, what+": "+err.Error()), nil
}

// pkgs returns the installed packages with lists of their versions.
func (m *module) pkgs(ctx context.Context, kwargs *data.Map) (*data.Map, error) {
	return calls.ListPkgs(ctx, m.env, calls.PkgList{AsLists: true, More: kwargs})
}

// repack converts a list of packages to a dictionary of names and versions, nil for any. An empty
// list is an error.
func (m *module) repack(ctx context.Context, pkgs any, normalize bool) (*data.Map, error) {
	packed, wrong, err := packages.Packed(pkgs, func(name string) (string, error) {
		return packages.Normal(ctx, m.env, name, normalize)
	})
	if wrong != "" {
		m.env.Log.Error(wrong)
		return &data.Map{}, nil
	}
	return packed, err
}

// emptyList reports whether an argument is an empty list.
func emptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

// singlePackage returns a name, with an optional version, as a list of packages.
func singlePackage(name, version any) []any {
	if data.Truth(version) {
		return []any{data.NewMap(name, version)}
	}
	return []any{name}
}

// capabilities replaces capabilities in a list of packages by the packages that provide them, if
// the package manager supports it. It also returns whether the package lists still have to be
// refreshed.
func (m *module) capabilities(
	ctx context.Context, pkgs any, refresh bool, kwargs *data.Map,
) (any, bool, error) {
	if !data.Truth(pkgs) || !m.has("pkg.resolve_capabilities") {
		return pkgs, refresh, nil
	}
	all := kwargs.Clone()
	all.Set("refresh", refresh)
	list, err := calls.ResolveCapabilities(ctx, m.env, pkgs, all)
	return list, false, err
}

// nested formats a value like the outputter of that name.
func nested(v any) (string, error) {
	text, err := output.Nested(output.Options{Indent: output.NoIndent{}}).Format(v)
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

// desiredText returns a package with its desired version.
func desiredText(name string, desired *data.Map) string {
	version := data.Str(desired.Value(name))
	switch {
	case !data.Truth(desired.Value(name)):
		return name
	case strings.HasPrefix(version, "<") || strings.HasPrefix(version, ">") ||
		strings.HasPrefix(version, "="):
		return name + version
	}
	return name + "=" + version
}

// listed joins packages with commas, with their desired versions unless they come from files.
func listed(pkgs []string, desired *data.Map, files bool) string {
	out := make([]string, len(pkgs))
	for i, name := range pkgs {
		if out[i] = name; !files {
			out[i] = desiredText(name, desired)
		}
	}
	return strings.Join(out, ", ")
}

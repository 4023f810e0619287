// Package gem is Salt's state gem: packages of Ruby (salt/states/gem.py). It uses the module gem.
//
// Differences from Salt: a gem is up to date if any of its installed versions fits, whereas Salt
// installs it in every run unless the newest does; and the versions that came with Ruby count as
// installed. After a change, the state reads the gems or sources again.
package gem

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state gem. It is available on hosts with the module gem.
func Plugin() loader.Plugin { return loader.Plugin{Name: "gem", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("gem.list") {
		return nil, errors.New("gem module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("installed", m.installed),
		loader.F("removed", m.removed),
		loader.F("sources_add", m.sourcesAdd),
		loader.F("sources_remove", m.sourcesRemove),
	}}, nil
}

type installedArgs struct {
	Name        string
	Ruby        any  `default:"None"`
	GemBin      any  `default:"None"`
	User        any  `default:"None"`
	Version     any  `default:"None"`
	Rdoc        bool `default:"False"`
	Ri          bool `default:"False"`
	PreReleases bool `default:"False"`
	Proxy       any  `default:"None"`
	Source      any  `default:"None"`
}

// installed keeps a gem installed.
//
// version
//
//	A version, or a comparison with one such as ">= 1.2".
//
// gem_bin
//
//	The path of the program gem.
//
// user
//
//	The user to run it as.
//
// The other arguments are those of gem.install.
//
//	rake:
//	  gem.installed:
//	    - version: '>= 13.0'
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	comparison, wanted := demand(a.Version)
	return change.Thing[[]string]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]string, error) {
			return m.versions(ctx, a.Name, a.Ruby, a.GemBin, a.User)
		},
		Wants: func(now []string) *data.Map {
			fits := slices.ContainsFunc(now, func(version string) bool {
				switch {
				case a.Version == nil:
					return true
				case comparison == "":
					return version == wanted
				}
				return packages.Holds(version, comparison, wanted, loose)
			})
			return change.When(!fits, data.NewMap(a.Name, "Installed"))
		},
		Apply: func(ctx context.Context, _ []string) error {
			return change.Do(ctx, m.env, "gem.install", []any{a.Name}, data.NewMap("ruby", a.Ruby,
				"gem_bin", a.GemBin, "runas", a.User, "version", a.Version, "rdoc", a.Rdoc, "ri", a.Ri,
				"pre_releases", a.PreReleases, "proxy", a.Proxy, "source", a.Source))
		},
		Texts: change.Texts{
			Same:   "Gem is already installed.",
			Would:  "The gem " + a.Name + " would have been installed",
			Done:   "Gem was successfully installed",
			Failed: "Could not install gem.",
		},
		Say: func(o change.Outcome[[]string]) any {
			if o.Stage == change.StageSame && comparison != "" {
				return "Installed Gem meets version requirements."
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// demand splits a version into the comparison, "" for none, and the version itself.
func demand(version any) (comparison, wanted string) {
	wanted = data.Str(version)
	comparison = regexp.MustCompile(`^(?:>=|>|<=|<)`).FindString(wanted)
	if comparison != "" {
		wanted = strings.TrimSpace(strings.ReplaceAll(wanted, comparison, ""))
	}
	return comparison, wanted
}

// versions returns the installed versions of a gem.
func (m *module) versions(ctx context.Context, name string, ruby, bin, user any) ([]string, error) {
	gems, err := change.Ask[*data.Map](ctx, m.env, "gem.list", []any{name, ruby},
		data.NewMap("gem_bin", bin, "runas", user))
	if err != nil {
		return nil, err
	}
	versions := data.TextsOf(gems.Value(name))
	for i, version := range versions {
		versions[i] = strings.TrimSpace(strings.ReplaceAll(version, "default: ", ""))
	}
	return versions, nil
}

type removedArgs struct {
	Name   string
	Ruby   any `default:"None"`
	User   any `default:"None"`
	GemBin any `default:"None"`
}

// removed keeps all versions of a gem uninstalled. The arguments are those of gem.installed.
//
//	rake:
//	  gem.removed
func (m *module) removed(ctx context.Context, a removedArgs) (change.Result, error) {
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			versions, err := m.versions(ctx, a.Name, a.Ruby, a.GemBin, a.User)
			return len(versions) > 0, err
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(a.Name, "Removed")) },
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, "gem.uninstall", []any{a.Name, a.Ruby},
				data.NewMap("gem_bin", a.GemBin, "runas", a.User))
		},
		Texts: change.Texts{
			Same:   "Gem is not installed.",
			Would:  "The gem " + a.Name + " would have been removed",
			Done:   "Gem was successfully removed.",
			Failed: "Could not remove gem.",
		},
		Silent: true,
	}.Ensure(ctx)
}

type sourceArgs struct {
	Name string
	Ruby any `default:"None"`
	User any `default:"None"`
}

// sourcesAdd keeps a server of gems, named by its URL, in the list of sources.
//
//	https://gems.example.com/:
//	  gem.sources_add
func (m *module) sourcesAdd(ctx context.Context, a sourceArgs) (change.Result, error) {
	return m.source(ctx, a, true, "gem.sources_add", "Installed", change.Texts{
		Same:   "Gem source is already added.",
		Would:  "The gem source " + a.Name + " would have been added.",
		Done:   "Gem source was successfully added.",
		Failed: "Could not add gem source.",
	})
}

// sourcesRemove keeps a server of gems, named by its URL, out of the list of sources.
//
//	https://gems.example.com/:
//	  gem.sources_remove
func (m *module) sourcesRemove(ctx context.Context, a sourceArgs) (change.Result, error) {
	return m.source(ctx, a, false, "gem.sources_remove", "Removed", change.Texts{
		Same:   "Gem source is already removed.",
		Would:  "The gem source would have been removed.",
		Done:   "Gem source was successfully removed.",
		Failed: "Could not remove gem source.",
	})
}

func (m *module) source(
	ctx context.Context, a sourceArgs, wanted bool, fun, made string, texts change.Texts,
) (change.Result, error) {
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			list, err := change.Ask[[]any](ctx, m.env, "gem.sources_list", []any{a.Ruby},
				data.NewMap("runas", a.User))
			return slices.Contains(data.Texts(list), a.Name), err
		},
		Wants: func(is bool) *data.Map { return change.When(is != wanted, data.NewMap(a.Name, made)) },
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, fun, nil,
				data.NewMap("source_uri", a.Name, "ruby", a.Ruby, "runas", a.User))
		},
		Texts:  texts,
		Silent: true,
	}.Ensure(ctx)
}

// loose compares versions as Salt does for this state.
func loose(a, b string) (order int, ok bool) { return packages.Loose(a, b), true }

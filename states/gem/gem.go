// Package gem is Salt's state gem: packages of Ruby (salt/states/gem.py). It uses the module gem.
//
// Differences from Salt: a gem is up to date if any of its installed versions fits, whereas Salt
// installs it in every run unless the newest does; and the versions that came with Ruby count as
// installed. All comparisons of RubyGems are known, and 1.2 is the same as 1.2.0. After a change, the
// state reads the gems or sources again. Comments and changes have the URL of a source without its
// password.
package gem

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
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
		loader.F("installed", m.installed).Secret("source", "proxy"),
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
//	A version, or comparisons that commas separate, such as ">= 1.2" or "~> 1.2, != 1.2.5".
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
	wanted := strings.TrimSpace(data.Str(a.Version))
	required, known := requirements(wanted)
	compares, done := strings.ContainsAny(wanted, "<>=~,"), false
	return change.Thing[[]string]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]string, error) {
			return m.versions(ctx, a.Name, a.Ruby, a.GemBin, a.User)
		},
		Wants: func(now []string) *data.Map {
			fits := slices.ContainsFunc(now, func(version string) bool {
				return a.Version == nil || version == wanted || done && !known ||
					known && !slices.ContainsFunc(required, func(r requirement) bool { return !r.met(version) })
			})
			return change.When(!fits, data.NewMap(a.Name, "Installed"))
		},
		Apply: func(ctx context.Context, _ []string) error {
			done = true
			return change.Do(ctx, m.env, "gem.install", []any{a.Name}, data.NewMap("ruby", a.Ruby,
				"gem_bin", a.GemBin, "runas", a.User, "version", a.Version, "rdoc", a.Rdoc, "ri", a.Ri,
				"pre_releases", a.PreReleases, "proxy", a.Proxy, "source", a.Source))
		},
		Changed: func(before, after []string) *data.Map {
			return change.When(!slices.Equal(before, after), data.NewMap(a.Name, "Installed"))
		},
		Texts: change.Texts{
			Same:   "Gem is already installed.",
			Would:  "The gem " + a.Name + " would have been installed",
			Done:   "Gem was successfully installed",
			Failed: "Could not install gem.",
		},
		Say: func(o change.Outcome[[]string]) any {
			if o.Stage == change.StageSame && compares {
				return "Installed Gem meets version requirements."
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// versions returns the installed versions of a gem.
func (m *module) versions(ctx context.Context, name string, ruby, bin, user any) ([]string, error) {
	gems, err := change.Ask[*data.Map](ctx, m.env, "gem.list", []any{name, ruby},
		data.NewMap("gem_bin", bin, "runas", user))
	if err != nil {
		return nil, err
	}
	versions := data.TextsOf(gems.Value(name))
	for i, version := range versions { // such as 1.15.4 x86_64-linux or default: 2.3.7
		version, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(version, "default: ")), " ")
		versions[i] = version
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
		Would:  "The gem source " + masked(a.Name) + " would have been added.",
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

// masked returns a URL without its password.
func masked(source string) string { return data.Str(config.Masked("", source)) }

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
		Wants: func(is bool) *data.Map { return change.When(is != wanted, data.NewMap(masked(a.Name), made)) },
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, fun, nil,
				data.NewMap("source_uri", a.Name, "ruby", a.Ruby, "runas", a.User))
		},
		Texts:  texts,
		Silent: true,
	}.Ensure(ctx)
}

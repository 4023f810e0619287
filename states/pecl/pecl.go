// Package pecl is Salt's state pecl: extensions of PHP that the program pecl installs
// (salt/states/pecl.py). It uses the module pecl.
//
// Difference from Salt: after a change, each state looks again.
package pecl

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pecl. It is available where the module is.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pecl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("pecl.list") {
		return nil, errors.New("pecl module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("installed", m.installed),
		loader.F("removed", m.removed),
	}}, nil
}

// look returns the version and the state of an installed extension; none if it is not installed.
func (m *module) look(ctx context.Context, name string) ([]any, error) {
	var channel any
	if first, rest, ok := strings.Cut(name, "/"); ok {
		channel, name = first, rest
	}
	all, err := change.Ask[*data.Map](ctx, m.env, "pecl.list", []any{channel}, nil)
	found, _ := all.Value(name).([]any)
	return found, err
}

type installedArgs struct {
	Name           string
	Version        any    `default:"None"`
	Defaults       any    `default:"False"`
	Force          any    `default:"False"`
	PreferredState string `default:"'stable'"`
}

// installed keeps an extension installed.
//
// name
//
//	The extension, or CHANNEL/NAME.
//
// version
//
//	The version. Default: any, and the latest for an installation.
//
// defaults
//
//	True: answer the questions of the installation with the defaults.
//
// force
//
//	True: install it although pecl has reasons not to.
//
// preferred_state
//
//	stable, beta, alpha or another state of extensions, which an installed one must have too.
//
//	mongo:
//	  pecl.installed:
//	    - version: 1.6.16
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	wanted := a.Name
	if a.Version != nil {
		wanted += "-" + data.Str(a.Version)
	}
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) { return m.look(ctx, a.Name) },
		Wants: func(now []any) *data.Map {
			right := len(now) > 0 && slices.Contains(now, any(a.PreferredState)) &&
				(a.Version == nil || slices.Contains(now, any(data.Str(a.Version))))
			return change.When(!right, data.NewMap(wanted, "Installed"))
		},
		Apply: func(ctx context.Context, _ []any) error {
			v, err := change.Ask[any](ctx, m.env, "pecl.install", []any{wanted}, data.NewMap("defaults", a.Defaults,
				"force", a.Force, "preferred_state", a.PreferredState))
			if err == nil && !data.Truth(v) {
				err = change.Reason("Could not install pecl extension " + wanted + ".")
			}
			return err
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Pecl extension " + a.Name + " is already installed.",
			Would:  "Pecl extension " + wanted + " would have been installed",
			Done:   "Pecl extension " + wanted + " was successfully installed",
			Failed: "Could not install pecl extension " + wanted + ".",
		},
	}.Ensure(ctx)
}

type removedArgs struct{ Name string }

// removed keeps an extension uninstalled.
//
//	mongo:
//	  pecl.removed
func (m *module) removed(ctx context.Context, a removedArgs) (change.Result, error) {
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) { return m.look(ctx, a.Name) },
		Wants: func(now []any) *data.Map {
			return change.When(len(now) > 0, data.NewMap(a.Name, "Removed"))
		},
		Apply: func(ctx context.Context, _ []any) error {
			return change.Do(ctx, m.env, "pecl.uninstall", []any{a.Name}, nil)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Pecl extension " + a.Name + " is not installed.",
			Would:  "Pecl extension " + a.Name + " would have been removed",
			Done:   "Pecl extension " + a.Name + " was successfully removed.",
			Failed: "Could not remove pecl extension " + a.Name + ".",
		},
	}.Ensure(ctx)
}
